"""Progress as it stands in an evaluation, whoever found it: written and read here alone.

`details["milestones"]` holds a finding for each milestone, `details["progress"]` the rates in
percent, `details["milestones_hash"]` which milestones they were: others make it stale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.utils.translation import gettext_noop
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from judging.evaluators.contract import Finding as EvaluatorFinding
from webagent.milestones.definition import Definition, digest_of
from webagent.milestones.findings import Finding, Progress

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


class _Rates(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    by_step: tuple[float, ...] = ()
    maximum: float
    final: float


class StoredProgress(BaseModel):
    """The progress that an evaluation holds, with what was found of each milestone."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    milestones: tuple[StoredFinding, ...] = ()
    progress: _Rates
    milestones_hash: str = ""
    unchecked: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Whether some of the task's milestones could not be told, and count for nothing."""
        return bool(self.unchecked or self.unseen)


def progress_details(
    milestones: Sequence[Definition], findings: Sequence[Finding], progress: Progress
) -> dict[str, object]:
    """What an evaluation holds of it, in `details`."""
    return {
        "milestones": [
            {
                "name": each.name,
                "achieved_at": each.achieved_at,
                "lost_at": each.lost_at,
                "rationale": each.rationale,
                "evidence_step": each.evidence_step,
                "regained": [list(span) for span in each.regained],
            }
            for each in findings
        ],
        "progress": {
            "maximum": progress.maximum,
            "final": progress.final,
            "by_step": list(progress.by_step),
        },
        "milestones_hash": digest_of(milestones),
    }


def progress_score(finding: EvaluatorFinding, progress: Progress) -> EvaluatorFinding:
    """The finding with the highest progress as its score, in [0, 1]."""
    return replace(finding, score=progress.maximum / 100)


def stored_progress(details: object) -> StoredProgress | None:
    """The progress in an evaluation's details; None where they hold none that can be read."""
    if not isinstance(details, Mapping):
        return None
    try:
        return StoredProgress.model_validate(details)
    except ValidationError:
        return None
