"""The triangle: people, the reference verdict and every evaluator, beside each other for a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from django.db.models import Expression

from judging.analysis.audits.cells import Shown, shown
from judging.analysis.audits.explanations import decided_by
from judging.analysis.audits.matrices import NOT_EVALUATED, PASSED_BY_VERDICT
from judging.analysis.audits.population import SUCCESS
from judging.analysis.audits.verdict_sources import (
    STEPS,
    VerdictSource,
    VerdictSources,
    step_verdict,
)
from judging.models import Evaluation, Label, StudyItem
from judging.statistics.confusion import cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one source said of one run, in the words of evaluations or of labels.

    `verdict` is empty where nothing was asked or said; `reason` says why there is no verdict;
    `cell` is empty for annotators.
    """

    verdict: str = ""
    cell: str = ""
    reason: str = ""
    decided: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether it contradicts the reference."""
        return self.cell in (Shown.FN, Shown.FP)


NOTHING = Said()


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """One annotator's label of a run."""

    annotator: str
    success: str


@dataclass(slots=True, kw_only=True)
class RunVerdicts:
    """All that was said of one run."""

    labels: list[Labelled] = field(default_factory=list)
    said: dict[str, Said] = field(default_factory=dict)
    """By key of the source."""

    def by(self, source: VerdictSource) -> Said:
        """What this source said."""
        return self.said.get(source.key, NOTHING)


def verdicts_on(
    items: Sequence[StudyItem], sources: VerdictSources, wanted: Sequence[VerdictSource]
) -> Mapping[int, RunVerdicts]:
    """What the wanted sources said of these runs, by item, in two queries."""
    found = {item.pk: RunVerdicts() for item in items}
    by_run = {item.run_id: item for item in items}
    for label in (
        Label.objects.filter(item__among=found, is_repeat=False)
        .order_by("submitted_at", "annotator__username")
        .values_list("item", "annotator__username", "success")
    ):
        item, annotator, success = label
        found[item].labels.append(Labelled(annotator=annotator, success=success))
    for run, evaluator, said in _evaluations(by_run, sources, wanted):
        item_of_run = by_run[run]
        succeeded = item_of_run.verdict.verdict == SUCCESS
        for step, verdict in said.steps.items():
            key = f"{evaluator}.{step}"
            found[item_of_run.pk].said[key] = _said(verdict or "", succeeded, "", "")
        found[item_of_run.pk].said[str(evaluator)] = _said(
            said.verdict, succeeded, said.reason, said.decided
        )
    for item_of_run in items:
        for source in wanted:
            if not source.step:
                found[item_of_run.pk].said.setdefault(
                    source.key, Said(cell=Shown.NONE, reason=NOT_EVALUATED)
                )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    verdict: str
    reason: str
    decided: str
    steps: Mapping[str, str | None]


def _evaluations(
    by_run: Mapping[UUID, StudyItem], sources: VerdictSources, wanted: Sequence[VerdictSource]
) -> Iterable[tuple[UUID, int, _Stored]]:
    steps: dict[str, Expression] = {}
    if sources.steps:
        steps = {f"step_{name}": step_verdict(name, "details") for name in STEPS}
    rows = (
        Evaluation.objects.filter(
            run__among=by_run,
            is_current=True,
            evaluator__in={source.evaluator.pk for source in wanted if source.evaluator},
        )
        .order_by()
        .values("run", "evaluator", "verdict", "reason", "details", **steps)
    )
    for row in cast("Iterable[dict[str, Any]]", rows):
        taken = sources.steps.get(row["evaluator"], ())
        stored = _Stored(
            verdict=row["verdict"],
            reason=row["reason"],
            decided=decided_by(row["details"]),
            steps={source.step: row[f"step_{source.step}"] for source in taken},
        )
        yield row["run"], row["evaluator"], stored


def _said(verdict: str, succeeded: bool, reason: str, decided: str) -> Said:
    found = cell(succeeded, PASSED_BY_VERDICT.get(verdict))
    return Said(verdict=verdict, cell=shown(found), reason=reason, decided=decided)
