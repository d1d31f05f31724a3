"""Tagging failures with their causes: the form beside a run, and the way through a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.cells import Neighbours, neighbours
from judging.analysis.experiments.population import Scope, scope_for
from judging.analysis.miniwob.causes import sampled
from judging.analysis.miniwob.forms import FailureCauseForm
from judging.analysis.miniwob.proposing import Fault
from judging.models import FailureCause, FailureCauseTag, FailureSample, SampledFailure
from judging.studies.access import TAG_FAILURES
from runs.models import Experiment, User
from runs.models.parsing import read_number

MOST_FINDINGS = 5
FAULTS: dict[str, Promise] = {
    Fault.NOT_DETECTED.value: _("was not detected"),
    Fault.MISREAD.value: _("was misread"),
    Fault.OTHER_KIND.value: _("was told as another kind"),
}
DEFINITIONS: dict[FailureCause, Promise] = {
    FailureCause.VISION: _("What it was told of the screen was wrong, or left out what mattered."),
    FailureCause.REASONING: _("It was told the screen rightly, and decided wrongly."),
    FailureCause.OTHER: _("The environment, the judging of the task, or something else."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingShown:
    """What a rule found: an element that was needed and not seen as it is."""

    step: int
    role: str
    text: str
    fault: Promise
    read: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCausePane:
    """One failure of a sample: its form, what is proposed, and what was said."""

    sample: FailureSample
    row: SampledFailure
    history: Sequence[FailureCauseTag]
    """What was said of the run, the newest first."""
    neighbours: Neighbours

    @property
    def form(self) -> FailureCauseForm:
        """As it stands."""
        return FailureCauseForm.about(self.current)

    @property
    def findings(self) -> list[FindingShown]:
        """What speaks for the proposal: a handful at most."""
        return [
            FindingShown(
                step=each["step"],
                role=each["role"],
                text=each["text"],
                fault=FAULTS[each["fault"]],
                read=each.get("read", ""),
            )
            for each in (self.row.proposal or {}).get("findings", [])[:MOST_FINDINGS]
        ]

    @property
    def current(self) -> FailureCauseTag | None:
        """What counts; None where nothing does, or it was taken back."""
        return next((each for each in self.history if each.is_current and each.cause), None)

    @property
    def definitions(self) -> list[tuple[str, Promise]]:
        return [(str(cause.label), words) for cause, words in DEFINITIONS.items()]


def sample_of(user: User, pk: int) -> tuple[FailureSample, Scope] | None:
    """The sample and what the person may know of its experiment; None where they may not tag."""
    sample = FailureSample.objects.filter(pk=pk).first()
    if sample is None or not user.has_perm(TAG_FAILURES):
        return None
    scope = scope_to_tag(user, sample.experiment_id)
    return None if scope is None else (sample, scope)


def scope_to_tag(user: User, experiment_pk: int) -> Scope | None:
    """What the person may know of the experiment; None where they may know of none of its runs.

    Its very name would tell them who acted.
    """
    experiment = Experiment.objects.visible_to(user).filter(pk=experiment_pk).first()
    scope = experiment and scope_for(user, experiment)
    return scope if scope and scope.visible.exists() else None


def failure_cause_pane(user: User, sample_pk: int, run_id: UUID) -> FailureCausePane | None:
    """The form for a run of the sample; None where there is none for this person."""
    found = sample_of(user, sample_pk)
    if found is None:
        return None
    sample, scope = found
    rows = sampled(scope, [sample]).order_by("position")
    beside = neighbours(rows, run_id)
    if beside is None:
        return None
    said = FailureCauseTag.objects.filter(run=run_id).select_related("by")
    return FailureCausePane(
        sample=sample,
        row=rows.select_related("run__task").defer("run__record", "run__evidence").get(run=run_id),
        history=list(said.order_by("-at", "-id")),
        neighbours=beside,
    )


def walked_failure(user: User, sample: str, run_id: UUID) -> FailureCausePane | None:
    """The same for the sample that an address names."""
    number = read_number(sample)
    return None if number is None else failure_cause_pane(user, number, run_id)
