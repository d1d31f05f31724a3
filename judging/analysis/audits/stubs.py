"""Which evaluators of a study owe their verdicts to a stand-in and not to a model."""

from __future__ import annotations

from django.db.models import Exists, OuterRef

from judging.models import Evaluation, EvaluatorVersion, Study
from webagent.llm.registry import PREFIX


def stubs_of(study: Study) -> list[EvaluatorVersion]:
    """The evaluators with a say in the study that a stub answers. One query."""
    said = Evaluation.objects.filter(
        evaluator=OuterRef("pk"), is_current=True, run__in=study.items.order_by().values("run")
    )
    versions = EvaluatorVersion.objects.filter(config__model__istartswith=PREFIX)
    return list(versions.filter(Exists(said)))
