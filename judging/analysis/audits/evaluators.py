"""Which evaluators stand beside each other as judges of success, and in which order."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Exists, OuterRef, QuerySet

from judging.models import Evaluation, EvaluatorVersion, Study
from webagent.llm.registry import PREFIX

_KINDS = {
    kind.value: place
    for place, kind in enumerate(
        (
            EvaluatorVersion.Kind.MATCHER,
            EvaluatorVersion.Kind.JUDGE,
            EvaluatorVersion.Kind.REWARD,
            EvaluatorVersion.Kind.PIPELINE,
            EvaluatorVersion.Kind.MILESTONES,
        )
    )
}


def of_success() -> QuerySet[EvaluatorVersion]:
    """Those that say whether runs succeed; the others say how runs fail."""
    return EvaluatorVersion.objects.exclude(kind=EvaluatorVersion.Kind.MODES)


def in_order(versions: Iterable[EvaluatorVersion]) -> list[EvaluatorVersion]:
    """From the simple to what is made of it, before the repair and then after it; others last."""
    return sorted(
        versions,
        key=lambda version: (
            _KINDS.get(version.kind, len(_KINDS)),
            "repaired" in version.name,
            version.name == "after",
            version.name,
            version.version,
        ),
    )


def stubs_of(study: Study) -> list[EvaluatorVersion]:
    """The evaluators with a say in the study that a stub answers. One query."""
    said = Evaluation.objects.filter(
        evaluator=OuterRef("pk"), is_current=True, run__in=study.items.order_by().values("run")
    )
    versions = EvaluatorVersion.objects.filter(config__model__istartswith=PREFIX)
    return list(versions.filter(Exists(said)))
