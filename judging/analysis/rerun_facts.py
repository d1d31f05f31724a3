"""What judgements tell the rules that decide which runs are run again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from judging.analysis.audits.verdict_sources import of_success
from judging.evaluators.failure_modes import MODE_EVALUATORS
from judging.evaluators.registry import REGISTRY
from judging.models import Evaluation, Label, ReferenceVerdict, Study
from judging.studies.blinding import items_with_open_labels
from judging.studies.protocols import DEFAULT_CAUSES, cause_choices
from runs.models import Run, User
from runs.models.extension import RunVerdicts

MOST_STUDIES = 300
"""Studies whose causes of failure rules may name in words."""
DECIDED = (Evaluation.Verdict.PASSED, Evaluation.Verdict.FAILED)


class RerunFacts:
    """The judgements behind `runs.models.extension.Judgements`."""

    def of(self, run_ids: Iterable[UUID], user: User | None) -> Mapping[UUID, RunVerdicts]:
        """Verdicts and marked causes by run. Runs of which nothing is said are missing."""
        ids = list(run_ids)
        references = _references(ids)
        evaluators = _evaluations(ids)
        causes = _causes(ids, user)
        return {
            run_id: RunVerdicts(
                reference=references.get(run_id),
                evaluators=evaluators.get(run_id, {}),
                causes=frozenset(causes.get(run_id, ())),
            )
            for run_id in {*references, *evaluators, *causes}
        }

    def evaluators(self) -> list[tuple[str, str]]:
        """Predefined ones, and those whose evaluations are here."""
        stored = of_success().order_by("name").values_list("name", flat=True)
        known = [name for name in REGISTRY if name not in MODE_EVALUATORS]
        return [(name, name) for name in dict.fromkeys([*known, *stored])]

    def causes(self) -> list[tuple[str, str]]:
        """The built-in causes, and those that the newest studies name beside them."""
        builtin = [{"key": key, "name": name} for key, name in DEFAULT_CAUSES.items()]
        known = dict(cause_choices(builtin))
        newest = Study.objects.order_by("-created_at", "-pk")[:MOST_STUDIES]
        for taxonomy in newest.values_list("taxonomy", flat=True):
            known = dict(cause_choices(taxonomy)) | known
        return sorted(known.items(), key=lambda choice: choice[0] not in DEFAULT_CAUSES)

    def studies(self, user: User) -> QuerySet[Study]:
        """Those on the page of studies."""
        return Study.objects.listed_for(user).order_by("-created_at", "-pk")

    def runs_of_study(self, study_id: int, user: User | None) -> QuerySet[Run] | None:
        """The runs of its items."""
        studies = Study.objects.all() if user is None else Study.objects.listed_for(user)
        study = studies.filter(pk=study_id).first()
        return None if study is None else Run.objects.filter(study_items__study=study)


def _references(ids: list[UUID]) -> dict[UUID, bool]:
    """Whether the reference verdict is a success. What cannot be executed is neither."""
    decided = ReferenceVerdict.objects.filter(run__in=ids, is_authoritative=True).exclude(
        verdict=ReferenceVerdict.Verdict.NOT_EXECUTABLE
    )
    success = ReferenceVerdict.Verdict.SUCCESS
    return {run: said == success for run, said in decided.values_list("run", "verdict")}


def _evaluations(ids: list[UUID]) -> dict[UUID, dict[str, bool]]:
    """The newest verdict of each evaluator, by its name, whatever its version."""
    said: dict[UUID, dict[str, bool]] = defaultdict(dict)
    current = Evaluation.objects.filter(run__in=ids, is_current=True, verdict__in=DECIDED)
    newest_last = current.order_by("created_at").values_list("run", "evaluator__name", "verdict")
    for run, name, verdict in newest_last:
        said[run][name] = verdict == Evaluation.Verdict.PASSED
    return said


def _causes(ids: list[UUID], user: User | None) -> dict[UUID, set[str]]:
    """Causes in labels that the person may read."""
    labels = Label.objects.filter(item__run__in=ids)
    if user is not None:
        labels = labels.filter(Exists(items_with_open_labels(user).filter(pk=OuterRef("item"))))
    marked: dict[UUID, set[str]] = defaultdict(set)
    for run, causes in labels.values_list("item__run", "causes"):
        marked[run].update(str(cause) for cause in causes)
    return marked
