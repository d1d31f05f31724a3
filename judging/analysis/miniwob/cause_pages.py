"""Tagging failures with their causes: the form beside a run, and the way through a sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.population import Neighbours, neighbours
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
    def findings(self) -> list[dict[str, Any]]:
        """What speaks for the proposal: a handful of elements that were needed and not seen."""
        found = (self.row.proposal or {}).get("findings", [])[:MOST_FINDINGS]
        return [each | {"fault": FAULTS[each["fault"]]} for each in found]

    @property
    def current(self) -> FailureCauseTag | None:
        """What counts; None where nothing does, or it was taken back."""
        return next((each for each in self.history if each.is_current and each.cause), None)

    @property
    def definitions(self) -> list[tuple[str, Promise]]:
        return [(str(cause.label), words) for cause, words in DEFINITIONS.items()]


def scope_to_tag(user: User, experiment_pk: int) -> Scope | None:
    """What the person may know of the experiment; None where they may know of none of its runs.

    Its very name would tell them who acted.
    """
    experiment = Experiment.objects.visible_to(user).filter(pk=experiment_pk).first()
    scope = experiment and scope_for(user, experiment)
    return scope if scope and scope.visible.exists() else None


def walked_failure(user: User, sample: str, run_id: UUID) -> FailureCausePane | None:
    """The form for a run of the sample that an address names; None if not for this person."""
    number = read_number(sample)
    drawn = None if number is None else FailureSample.objects.filter(pk=number).first()
    if drawn is None or not user.has_perm(TAG_FAILURES):
        return None
    scope = scope_to_tag(user, drawn.experiment_id)
    if scope is None:
        return None
    rows = sampled(scope, [drawn]).order_by("position")
    beside = neighbours(rows, run_id)
    if beside is None:
        return None
    said = FailureCauseTag.objects.filter(run=run_id).select_related("by")
    return FailureCausePane(
        sample=drawn,
        row=rows.select_related("run__task").defer("run__record", "run__evidence").get(run=run_id),
        history=list(said.order_by("-at", "-id")),
        neighbours=beside,
    )
