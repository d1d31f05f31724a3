"""`milestones-mechanical`: how far a stored run got, as its steps alone tell.

Progress as it stands in an evaluation, whoever found it: written and read here alone.

`details["milestones"]` holds a finding for each milestone, `details["progress"]` the rates in
percent, `details["milestones_hash"]` which milestones they were: others make it stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext_noop
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judging.evaluators.contract import Finding, without_outcome
from judging.evaluators.matchers import PLACEHOLDER
from judging.evaluators.matching.outcome import EvaluatorIdentity
from judging.models import Evaluation, EvaluatorVersion
from runs.catalogue.milestones.definitions import definitions_of, resolved
from runs.models import Milestone, Run, Step
from runs.storage.blobs import MissingBlobError, read_blob
from webagent.environment.placeholders import placeholders
from webagent.milestones.checks import ReportedCheck
from webagent.milestones.findings import (
    CheckedSteps,
    Definition,
    Progress,
    Rule,
    digest_of,
    find_milestones,
    looks,
    reported_milestones,
    track,
    weights_of,
)
from webagent.milestones.findings import Finding as MilestoneFinding
from webagent.trajectory.records import BlobRecord, StepRecord

NO_MILESTONES = gettext_noop("the task has no milestones")
MECHANICAL, JUDGED = "milestones-mechanical", "milestones-judge"
PROGRESS_EVALUATORS = (MECHANICAL, JUDGED)
"""Names of the evaluators whose evaluations hold progress."""


class StoredFinding(BaseModel):
    """What an evaluation says of one milestone."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    achieved_at: int | None = Field(default=None, ge=0)
    lost_at: int | None = Field(default=None, ge=0)
    rationale: str = ""
    evidence_step: int | None = Field(default=None, ge=0)
    regained: tuple[tuple[int, int | None], ...] = ()
    """Later spans in which it held again, each with the step that ended it, or None."""


class StoredRates(BaseModel):
    """Progress rates in percent, as a `Progress` has them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    by_step: tuple[float, ...] = ()
    maximum: float
    final: float


class StoredProgress(BaseModel):
    """The progress that an evaluation holds, with what was found of each milestone."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    milestones: tuple[StoredFinding, ...] = ()
    progress: StoredRates
    milestones_hash: str = ""
    unchecked: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Whether some of the task's milestones could not be checked, and count for nothing."""
        return bool(self.unchecked or self.unseen)


def progress_details(
    milestones: Sequence[Definition], findings: Sequence[MilestoneFinding], progress: Progress
) -> dict[str, object]:
    """What an evaluation holds of it, in `details`."""
    return {
        "milestones": [
            asdict(each) | {"regained": [list(span) for span in each.regained]} for each in findings
        ],
        "progress": {
            "maximum": progress.maximum,
            "final": progress.final,
            "by_step": list(progress.by_step),
        },
        "milestones_hash": digest_of(milestones),
    }


def stored_progress(details: object) -> StoredProgress | None:
    """The progress in an evaluation's details; None where they hold none that can be read."""
    try:
        return StoredProgress.model_validate(details)
    except ValidationError:
        return None


NO_STEPS = gettext_noop("the run has no steps")
NOT_CHECKED = gettext_noop("no milestone of the task has a mechanical check")
NOTHING_TO_LOOK_AT = gettext_noop("nothing was recorded that the checks could look at")
NOT_ALL_CHECKED = gettext_noop("not all milestones could be checked")


@dataclass(frozen=True, slots=True, kw_only=True)
class MechanicalMilestones:
    """Looks for milestones by their checks. Passes where all of the task's held at the end.

    Its score is the highest progress of the run, in [0, 1], over the milestones that could be
    checked; `details` names the others under `unchecked` and `unseen`. A task without milestones
    has those that its environment reported, all of one weight.
    """

    name: ClassVar[str] = MECHANICAL
    version: ClassVar[str] = "1"

    _applies: frozenset[UUID] | None = field(default=None, repr=False, compare=False)
    """Which runs of a batch it applies to."""

    @property
    def identity(self) -> EvaluatorIdentity:
        return EvaluatorIdentity(
            name=self.name,
            kind=EvaluatorVersion.Kind.MILESTONES.value,
            version=self.version,
            config={},
        )

    def having_read(self, runs: Sequence[Run]) -> MechanicalMilestones:
        return replace(self, _applies=_with_milestones(runs))

    def applies_to(self, run: Run) -> bool:
        return run.pk in (_with_milestones([run]) if self._applies is None else self._applies)

    def evaluate(self, run: Run) -> Finding:
        if (finding := without_outcome(run)) is not None:
            return finding
        steps = [step.to_record() for step in run.steps.order_by("index")]
        if not steps:
            return Finding.not_applicable(NO_STEPS)
        stored = definitions_of(run.task)
        milestones = stored or _reported_alone(steps)
        if not milestones:
            return Finding.not_applicable(NO_MILESTONES)
        checked = [one for one in _with_reports(milestones, steps) if one.rule is not None]
        if not checked:
            return Finding.not_applicable(NOT_CHECKED)
        at_sites = resolved(checked, settings.SITE_HOSTS)
        placed = [one for one in at_sites if not _placeholders(one)]
        left = [each for one in at_sites for each in _placeholders(one)]
        unset = {"placeholder": left[0]} if left else {}
        if not placed:
            return Finding.without_verdict(PLACEHOLDER, unset)
        found = find_milestones(placed, looks(steps, _tree_text))
        finding = _finding(milestones, found, n_steps=steps[-1].index + 1)
        finding = replace(finding, details={**finding.details, **unset})
        if stored:
            return finding
        # The task itself has none: that is what an edit would change.
        own = {"milestones_hash": digest_of(stored), "reported_alone": True}
        return replace(finding, details={**finding.details, **own})


def _placeholders(milestone: Definition) -> list[str]:
    """Placeholders of sites in its checks, which no address can match."""
    return [] if milestone.rule is None else placeholders(milestone.rule.model_dump())


def _with_milestones(runs: Sequence[Run]) -> frozenset[UUID]:
    """Those of the runs whose task has milestones, or whose environment reported some."""
    with_steps = {run.pk: run.task_id for run in runs if run.n_steps}
    stored = Milestone.objects.in_force().filter(task__among=set(with_steps.values())).order_by()
    tasks = set(stored.values_list("task", flat=True).distinct()) if with_steps else set()
    others = [run for run, task in with_steps.items() if task not in tasks]
    steps = Step.objects.filter(run__among=others, record__extra__has_key="milestones").order_by()
    reported = set(steps.values_list("run", flat=True).distinct()) if others else set()
    return frozenset(run for run, task in with_steps.items() if task in tasks or run in reported)


def _finding(milestones: Sequence[Definition], found: CheckedSteps, *, n_steps: int) -> Finding:
    findings = [one for one in found.findings if one.name not in found.unseen]
    names = {one.name for one in findings}
    if not names:
        return Finding.without_verdict(NOTHING_TO_LOOK_AT, {"unseen": list(found.unseen)})
    weights = {name: weight for name, weight in weights_of(milestones).items() if name in names}
    progress = track(findings, weights, n_steps)
    left_out = {
        "unchecked": [one.name for one in milestones if one.name not in names | set(found.unseen)],
        "unseen": list(found.unseen),
    }
    details = progress_details(milestones, findings, progress) | {
        kind: names for kind, names in left_out.items() if names
    }
    if not progress.is_success:
        finding = Finding(verdict=Evaluation.Verdict.FAILED, details=details)
    elif any(left_out.values()):
        finding = Finding.without_verdict(NOT_ALL_CHECKED, details)
    else:
        finding = Finding(verdict=Evaluation.Verdict.PASSED, details=details)
    return replace(finding, score=progress.maximum / 100)


def _with_reports(
    milestones: Iterable[Definition], steps: Sequence[StepRecord]
) -> list[Definition]:
    """The milestones; those without a rule that the environment reports by name have that one."""
    reported = {name for step in steps for name in reported_milestones(step)}
    return [
        one.model_copy(update={"rule": Rule(reached_when=ReportedCheck(name=one.name))})
        if one.rule is None and one.name in reported
        else one
        for one in milestones
    ]


def _reported_alone(steps: Sequence[StepRecord]) -> tuple[Definition, ...]:
    """What the environment reported, as milestones of one weight, in the order of appearance."""
    names = dict.fromkeys(name for step in steps for name in reported_milestones(step))
    return tuple(Definition(name=name[:200]) for name in names if name.strip() == name[:200] != "")


def _tree_text(blob: BlobRecord) -> str | None:
    try:
        return read_blob(blob.sha256).decode(errors="replace")
    except MissingBlobError:
        return None
