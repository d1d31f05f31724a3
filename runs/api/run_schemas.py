"""Runs as the API tells them: only what the caller may see."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from pydantic import BaseModel, Field

from runs.api.paging import Page
from runs.models import Attachment, Event, Run, Step
from runs.models.runs.run import hides_something
from runs.storage.views import BLIND_ROLES
from runs.viewer.timeline.marks import events_shown

if TYPE_CHECKING:
    from runs.models.runs.run import ShownRun

HIDDEN = "Null also where it is hidden from the caller."
BLOB = "SHA-256 of a file of the run."
MOST_FILES = 500


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
    source_format: str | None = Field(description=HIDDEN)
    seed: int | None
    trial: int
    attempt: int
    superseded: bool = Field(description="Whether a later attempt took its place.")
    n_steps: int
    seconds: float | None
    is_blind: bool = Field(description="Whether the caller judges it, so that much is hidden.")
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class RunPage(Page[RunOut]):
    """Runs, newest first."""


class EventOut(BaseModel):
    """Something that happened to a run between two steps."""

    kind: str
    first_step: int
    last_step: int
    detector: str | None = Field(description=HIDDEN)


class FileOut(BaseModel):
    """A file that belongs to a run."""

    sha256: str
    role: str
    name: str
    step: int | None
    media_type: str
    size: int = Field(description="In bytes.")


class RunDetail(RunOut):
    """A run with its end, its events and its files."""

    final_answer: str | None
    final_url: str | None = Field(description=HIDDEN)
    error: str | None = Field(description=HIDDEN)
    input_tokens: int | None = Field(description=HIDDEN)
    output_tokens: int | None = Field(description=HIDDEN)
    max_steps: int | None = Field(description=HIDDEN)
    rerun_of: UUID | None = Field(description=HIDDEN)
    retry_of: UUID | None = Field(description=HIDDEN)
    events: list[EventOut]
    files: list[FileOut] = Field(description=f"At most {MOST_FILES}, without those of the steps.")


class StepOut(BaseModel):
    """One step: what was seen, thought and done."""

    index: int
    branch: int
    state: str = Field(description="live, superseded or replayed")
    kind: str
    action: str
    thought: str
    url: str
    title: str
    error: str
    target: str
    box: Any = Field(description="[x, y, width, height] in pixels of the screenshot, or null.")
    point: Any = Field(description="[x, y] in pixels of the screenshot, or null.")
    screenshot: str | None = Field(description=BLOB)
    marked_screenshot: str | None = Field(description=BLOB)
    after_screenshot: str | None = Field(description=BLOB)
    tree: str | None = Field(description=BLOB)
    after_tree: str | None = Field(description=BLOB)
    started_at: datetime | None
    ended_at: datetime | None
    seconds: float | None
    reward: float | None = Field(description=HIDDEN)
    input_tokens: int | None = Field(description=HIDDEN)
    output_tokens: int | None = Field(description=HIDDEN)
    cost: float | None = Field(description=f"In US dollars. {HIDDEN}")


class StepPage(Page[StepOut]):
    """Steps in order."""


def run_out(run: Run) -> RunOut:
    """A run that was read by `visible_to`, with `for_list`."""
    return RunOut(**_fields(cast("ShownRun", run)))


def run_detail(run: Run) -> RunDetail:
    """The same with all that a page of it shows above the steps. Two queries."""
    shown = cast("ShownRun", run)
    is_open = not hides_something(run)
    files = run.attachments.select_related("blob").order_by("step_index", "role", "name", "id")
    if not is_open:
        files = files.filter(role__in=BLIND_ROLES)
    return RunDetail(
        **_fields(shown),
        final_answer=run.final_answer,
        final_url=run.final_url if is_open else None,
        error=(run.error_message or None) if is_open else None,
        input_tokens=run.input_tokens if is_open else None,
        output_tokens=run.output_tokens if is_open else None,
        max_steps=run.max_steps if is_open else None,
        rerun_of=run.rerun_of_id if is_open else None,
        retry_of=run.retry_of_id if is_open else None,
        events=[_event(event, is_open) for event in events_shown(run)],
        files=_files(files[:MOST_FILES]),
    )


def step_out(step: Step, run: Run) -> StepOut:
    """A step of a run that was read by `visible_to`."""
    is_open = not hides_something(run)
    return StepOut(
        index=step.index,
        branch=step.branch,
        state=step.state,
        kind=step.kind,
        action=step.action,
        thought=step.thought,
        url=step.url,
        title=step.title,
        error=step.error,
        target=step.target,
        box=step.box,
        point=step.point,
        screenshot=step.screenshot_id,
        marked_screenshot=step.marked_screenshot_id,
        after_screenshot=step.after_screenshot_id,
        tree=step.tree_id,
        after_tree=step.after_tree_id,
        started_at=step.started_at,
        ended_at=step.ended_at,
        seconds=step.seconds,
        reward=None if cast("ShownRun", run).is_blind else step.reward,
        input_tokens=step.input_tokens if is_open else None,
        output_tokens=step.output_tokens if is_open else None,
        cost=None if step.cost is None or not is_open else float(step.cost),
    )


def _fields(shown: ShownRun) -> dict[str, Any]:
    return {
        "id": shown.pk,
        "task": TaskRef(
            id=shown.task_id,
            task_set=str(shown.task.task_set),
            name=shown.task.external_id,
            site=shown.task.site,
        ),
        "goal": shown.goal or shown.task.goal,
        "status": shown.shown_status,
        "outcome": shown.shown_outcome,
        "reward": shown.shown_reward,
        "end_reason": shown.shown_end_reason,
        "fault": shown.shown_fault or None,
        "has_anomaly": shown.shown_anomaly,
        "agent": shown.shown_agent,
        "model": shown.shown_model,
        "experiment": shown.shown_experiment,
        "cost": shown.shown_cost,
        "source_format": None if shown.is_anonymous else shown.source_format,
        "seed": shown.seed,
        "trial": shown.trial,
        "attempt": shown.attempt,
        "superseded": shown.superseded,
        "n_steps": shown.n_steps,
        "seconds": shown.seconds,
        "is_blind": shown.is_blind,
        "created_at": shown.created_at,
        "started_at": shown.started_at,
        "ended_at": shown.ended_at,
    }


def _event(event: Event, is_open: bool) -> EventOut:
    return EventOut(
        kind=event.kind,
        first_step=event.first_step,
        last_step=event.last_step,
        detector=(event.detector or None) if is_open else None,
    )


def _files(files: Iterable[Attachment]) -> list[FileOut]:
    return [
        FileOut(
            sha256=file.blob_id,
            role=file.role,
            name=file.name,
            step=file.step_index,
            media_type=file.blob.media_type,
            size=file.blob.size,
        )
        for file in files
    ]
