"""Runs, their steps and their files."""

from typing import Any
from uuid import UUID

from ninja import Router

from runs.api.authentication import ApiRequest, Bearer
from runs.api.paging import Paged, page_of
from runs.api.problems import not_found
from runs.api.run_schemas import RunOut, RunPage, run_out
from runs.models import Run, Scope

router = Router(tags=["runs"])
READS = Bearer(Scope.RUNS_READ)


@router.get("/runs", response=RunPage, auth=READS, operation_id="list_runs", summary="List runs")
def list_runs(request: ApiRequest, paging: Paged) -> Any:
    """Runs that the caller may see, newest first."""
    runs = Run.objects.shown_to(request.user).for_list()
    rows, following = page_of(runs, paging, "-created_at", "-id")
    return RunPage(items=[run_out(run) for run in rows], next=following)


@router.get(
    "/runs/{uuid:run_id}",
    response=RunOut,
    auth=READS,
    operation_id="read_run",
    summary="Read a run",
)
def read_run(request: ApiRequest, run_id: UUID) -> Any:
    """One run."""
    run = Run.objects.shown_to(request.user).for_list().filter(pk=run_id).first()
    if run is None:
        raise not_found("run")
    return run_out(run)
