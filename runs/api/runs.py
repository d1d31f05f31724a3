"""Runs, their steps and their files."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from ninja import Query, Router
from pydantic import BaseModel, Field

from runs.api.authentication import ApiRequest, Bearer
from runs.api.bodies import GOAL, MOST_OF_GOAL, filled
from runs.api.paging import Page, Paged, Paging, Words, filtered, known_only, page_of
from runs.api.problems import first_of
from runs.knowledge.web.sets import knowledge_given
from runs.models import Attachment, Event, Run, Scope, Step
from runs.models.runs.queries import RunQuerySet, run_title
from runs.models.runs.run import hides_something
from runs.models.steps import BLOBS
from runs.models.visibility import visibility_of
from runs.storage.views import BLIND_ROLES, run_blob
from runs.viewer.run_list.filters import RunFilter
from runs.viewer.run_page import MOST_FILES
from runs.viewer.timeline.marks import events_shown

HIDDEN = "Null also where it is hidden from the caller."
BLOB = "SHA-256 of a file of the run."
SHOWN = ("status", "outcome", "reward", "end_reason", "agent", "model", "experiment", "cost")
"""Fields that a run has as `shown_*`: as the caller may know them."""


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
    goal: str = Field(description=GOAL)
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


class KnowledgeOut(BaseModel):
    """How much of its web knowledge the agent was given."""

    given: int = Field(description="Entries.")
    left_out: list[int] = Field(description="Places of entries, from 0.")
    budget_tokens: int | None = Field(description="Null: no budget.")
    room_tokens: int | None = Field(description="What the prompt had room for.")


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
    knowledge: KnowledgeOut | None = Field(description=HIDDEN)
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


def run_detail(run: Run) -> RunDetail:
    """A run out of `visible_to`, with what its page shows above the steps. Two queries."""
    is_open = not hides_something(run)
    files = run.attachments.select_related("blob").order_by("step_index", "role", "name", "id")
    if not is_open:
        files = files.filter(role__in=BLIND_ROLES)
    told = {
        "final_url": run.final_url,
        "error": run.error_message or None,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "max_steps": run.max_steps,
        "rerun_of": run.rerun_of_id,
        "retry_of": run.retry_of_id,
        "knowledge": _knowledge(run),
    }
    return filled(
        RunDetail,
        run,
        **_shown(run),
        goal=run.goal or run.task.goal,
        **(told if is_open else dict.fromkeys(told)),
        events=[_event(event, is_open) for event in events_shown(run)],
        files=[_file(file) for file in files[:MOST_FILES]],
    )


def _knowledge(run: Run) -> KnowledgeOut | None:
    given = knowledge_given(run)
    if given is None:
        return None
    return KnowledgeOut(
        given=given.n,
        left_out=list(given.left_out),
        budget_tokens=given.budget,
        room_tokens=given.room,
    )


def step_out(step: Step, run: Run) -> StepOut:
    """A step of a run that was read by `visible_to`."""
    told = {
        "input_tokens": step.input_tokens,
        "output_tokens": step.output_tokens,
        "cost": None if step.cost is None else float(step.cost),
    }
    return filled(
        StepOut,
        step,
        **{name: getattr(step, f"{name}_id") for name in BLOBS},
        reward=None if run.is_blind else step.reward,
        **(dict.fromkeys(told) if hides_something(run) else told),
    )


def _shown(run: Run) -> dict[str, Any]:
    """The fields of a run that have other names in its row."""
    return {
        **{name: getattr(run, f"shown_{name}") for name in SHOWN},
        "task": filled(
            TaskRef, run.task, task_set=str(run.task.task_set), name=run.task.external_id
        ),
        "fault": run.shown_fault or None,
        "has_anomaly": run.shown_anomaly,
        "source_format": None if run.is_anonymous else run.source_format,
    }


def _event(event: Event, is_open: bool) -> EventOut:
    return filled(EventOut, event, detector=(event.detector or None) if is_open else None)


def _file(file: Attachment) -> FileOut:
    blob = file.blob
    return filled(
        FileOut,
        file,
        sha256=blob.pk,
        step=file.step_index,
        media_type=blob.media_type,
        size=blob.size,
    )


router = Router(tags=["runs"], auth=Bearer(Scope.RUNS_READ))


class RunFilters(BaseModel):
    """The filters of the list of runs; several values of one are alternatives."""

    q: str | None = Field(
        None, max_length=300, description="Words of the goal, or an id of a run or task."
    )
    task_set: Words = Field([], description="Ids of task sets.")
    site: Words = []
    task: Words = Field([], description="Ids of tasks within their sets.")
    experiment: Words = Field([], description="Names of experiments.")
    agent: Words = []
    model: Words = []
    outcome: Words = []
    anomaly: Words = Field([], description="loop, false_completion or none")
    status: Words = []
    superseded: bool = Field(False, description="Also attempts that a later one replaced.")
    archived: bool = Field(False, description="Archived runs, and no others.")


@router.get("/runs", response=RunPage, summary="List and filter runs")
def list_runs(request: ApiRequest, paging: Paged, filters: Annotated[RunFilters, Query()]) -> Any:
    """Runs that you may see, newest first. What is hidden from you is neither shown nor
    filtered by.
    """
    known_only(request, Paging, RunFilters)  # no verdicts: they have a scope of their own
    visibility = visibility_of(request.user)
    found = filtered(RunFilter(request.GET, visibility=visibility))

    def rows_of(keys: list[UUID]) -> RunQuerySet[Run]:
        listed = Run.objects.visible_to(request.user, keys).for_list()
        return listed.annotate(goal_start=run_title(most=MOST_OF_GOAL, nameless=""))

    rows: list[Any]
    rows, following = page_of(found, paging, "-created_at", "-id", rows_of=rows_of)
    items = [filled(RunOut, run, **_shown(run), goal=run.goal_start) for run in rows]
    return RunPage(items=items, next=following)


@router.get("/runs/{uuid:run_id}", response=RunDetail, summary="Read a run")
def read_run(request: ApiRequest, run_id: UUID) -> Any:
    """A run with its end, its events and the hashes of its files."""
    return run_detail(run_of(request, run_id))


@router.get("/runs/{uuid:run_id}/steps", response=StepPage, summary="List the steps of a run")
def list_steps(request: ApiRequest, run_id: UUID, paging: Paged) -> Any:
    """Steps in order, with the hashes of their screenshots and accessibility trees."""
    known_only(request, Paging)
    run = run_of(request, run_id)
    rows, following = page_of(run.steps.defer("record"), paging, "index")
    return StepPage(items=[step_out(step, run) for step in rows], next=following)


@router.get(
    "/runs/{uuid:run_id}/blobs/{sha256}",
    summary="Fetch a file of a run",
    openapi_extra={
        "responses": {
            200: {
                "description": "The file: a picture, plain text, or bytes to keep",
                "content": {"application/octet-stream": {}},
            },
            304: {"description": "Unchanged since the ETag in `If-None-Match`"},
        }
    },
)
def read_blob(request: ApiRequest, run_id: UUID, sha256: str) -> Any:
    """A screenshot, an accessibility tree or another file that the run holds and you may see."""
    return run_blob(request, run_id, sha256)


def run_of(request: ApiRequest, run_id: UUID) -> Run:
    """The run, if the caller may see it.

    Raises:
        Problem: 404.
    """
    runs = Run.objects.visible_to(request.user, [run_id]).select_related("task__task_set")
    return first_of(runs.defer("record", "evidence"), "run")
