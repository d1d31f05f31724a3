"""Runs as one person may see them: what `visible_to` adds to their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, cast

from runs.models.runs import Run

if TYPE_CHECKING:
    from decimal import Decimal

    from django_stubs_ext import WithAnnotations

    class Shown(TypedDict):
        """What `visible_to` adds to a run."""

        is_blind: bool
        is_anonymous: bool
        shown_status: str
        shown_outcome: str | None
        shown_reward: float | None
        shown_end_reason: str | None
        shown_fault: str | None
        shown_anomaly: bool | None
        shown_agent: str | None
        shown_model: str | None
        shown_experiment: str | None
        shown_cost: Decimal | None

    ShownRun = WithAnnotations[Run, Shown]


def hides_something(run: Run) -> bool:
    """Whether the viewer that the run was read for is blind on it, or names are hidden."""
    shown = cast("ShownRun", run)
    return shown.is_blind or shown.is_anonymous
