"""Runs, their steps and their files."""

from typing import Annotated, Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import BaseModel, Field

from runs.api.authentication import ApiRequest, Bearer
from runs.api.paging import Paged, Paging, Words, filtered, known_only, page_of
from runs.api.problems import not_found
from runs.api.run_schemas import RunDetail, RunPage, StepPage, run_detail, run_out, step_out
from runs.models import Run, Scope
from runs.models.runs.queries import RunQuerySet
from runs.models.visibility import visibility_of
from runs.storage.views import run_blob
from runs.viewer.run_list.filters import RunFilter

router = Router(tags=["runs"])
READS = Bearer(Scope.RUNS_READ)


class RunFilters(BaseModel):
    """The filters of the list of runs; several values of one are alternatives."""

    q: str | None = Field(None, max_length=300, description="Words of the goal.")
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


@router.get(
    "/runs", response=RunPage, auth=READS, operation_id="list_runs", summary="List and filter runs"
)
def list_runs(request: ApiRequest, paging: Paged, filters: Annotated[RunFilters, Query()]) -> Any:
    """Runs that you may see, newest first. What is hidden from you is neither shown nor
    filtered by.
    """
    known_only(request, Paging, RunFilters)
    visibility = visibility_of(request.user)
    runs = Run.objects.visible_with(visibility)
    found = filtered(RunFilter(_filter_values(request), queryset=runs, visibility=visibility))

    def rows_of(keys: list[UUID]) -> RunQuerySet[Run]:
        return Run.objects.visible_to(request.user, keys).for_list()

    rows, following = page_of(found, paging, "-created_at", "-id", rows_of=rows_of)
    return RunPage(items=[run_out(run) for run in rows], next=following)


@router.get(
    "/runs/{uuid:run_id}",
    response=RunDetail,
    auth=READS,
    operation_id="read_run",
    summary="Read a run",
)
def read_run(request: ApiRequest, run_id: UUID) -> Any:
    """A run with its end, its events and the hashes of its files."""
    return run_detail(run_of(request, run_id))


@router.get(
    "/runs/{uuid:run_id}/steps",
    response=StepPage,
    auth=READS,
    operation_id="list_steps",
    summary="List the steps of a run",
)
def list_steps(request: ApiRequest, run_id: UUID, paging: Paged) -> Any:
    """Steps in order, with the hashes of their screenshots and accessibility trees."""
    known_only(request, Paging)
    run = run_of(request, run_id)
    rows, following = page_of(run.steps.defer("record"), paging, "index")
    return StepPage(items=[step_out(step, run) for step in rows], next=following)


@router.get(
    "/runs/{uuid:run_id}/blobs/{sha256}",
    auth=READS,
    operation_id="read_blob",
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
    run = runs.defer("record", "evidence").first()
    if run is None:
        raise not_found("run")
    return run


def _filter_values(request: HttpRequest) -> Any:
    """The query without what is of the page alone; verdicts have a scope of their own."""
    given = request.GET.copy()
    for name in set(given) - set(RunFilters.model_fields):
        del given[name]
    return given
