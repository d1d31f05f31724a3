"""Runs as the API tells them: only what the caller may see."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, cast
from uuid import UUID

from pydantic import BaseModel, Field

from runs.api.paging import Page
from runs.models import Run

if TYPE_CHECKING:
    from runs.visibility import ShownRun

HIDDEN = "Null also where it is hidden from the caller."


class TaskRef(BaseModel):
    """A task in few words."""

    id: int
    task_set: str
    name: str = Field(description="Its id within the task set.")
    site: str


class RunOut(BaseModel):
    """A run as the list of runs tells it."""

    id: UUID
    task: TaskRef
    goal: str
    status: str = Field(description="The queue's word: queued, leased, running, finished, …")
    outcome: str | None = Field(description=f"What its source says of it. {HIDDEN}")
    reward: float | None = Field(description=HIDDEN)
    end_reason: str | None = Field(description=HIDDEN)
    fault: str | None = Field(description=f"What of the infrastructure failed. {HIDDEN}")
    has_anomaly: bool | None = Field(description=HIDDEN)
    agent: str | None = Field(description=HIDDEN)
    model: str | None = Field(description=HIDDEN)
    experiment: str | None = Field(description=HIDDEN)
    cost: float | None = Field(description=f"In US dollars. {HIDDEN}")
    trial: int
    attempt: int
    superseded: bool = Field(description="Whether a later attempt took its place.")
    n_steps: int
    source_format: str
    is_blind: bool = Field(description="Whether the caller judges it, so that much is hidden.")
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class RunPage(Page[RunOut]):
    """Runs, newest first."""


def run_out(run: Run) -> RunOut:
    """A run that was read by `shown_to`, with `for_list`."""
    shown = cast("ShownRun", run)
    return RunOut(**run_fields(shown))


def run_fields(shown: ShownRun) -> dict[str, object]:
    """What every answer about a run holds."""
    return {
        "id": shown.pk,
        "task": TaskRef(
            id=shown.task_id,
            task_set=str(shown.task.task_set),
            name=shown.task.external_id,
            site=shown.task.site,
        ),
        "goal": shown.goal,
        "status": shown.status,
        "outcome": shown.shown_outcome,
        "reward": shown.shown_reward,
        "end_reason": shown.shown_end_reason,
        "fault": shown.shown_fault or None,
        "has_anomaly": shown.shown_anomaly,
        "agent": shown.shown_agent,
        "model": shown.shown_model,
        "experiment": shown.shown_experiment,
        "cost": shown.shown_cost,
        "trial": shown.trial,
        "attempt": shown.attempt,
        "superseded": shown.superseded,
        "n_steps": shown.n_steps,
        "source_format": shown.source_format,
        "is_blind": shown.is_blind,
        "created_at": shown.created_at,
        "started_at": shown.started_at,
        "ended_at": shown.ended_at,
    }
