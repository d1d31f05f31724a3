"""Pushing a run while it happens: opened, step by step, ended."""

from typing import Any
from uuid import UUID

from django.urls import reverse
from ninja import Status

from runs.api.authentication import ApiRequest, Bearer
from runs.api.description import problem_answer
from runs.api.idempotency import Answer, once
from runs.api.problems import not_found
from runs.api.push_problems import refusals
from runs.api.push_schemas import PushedRunOut, pushed_run_out
from runs.api.run_reads import router as router
from runs.imports.pushing.services import append_step, beat, end_run, open_run
from runs.models import Run, Scope
from webagent.trajectory.pushed.runs import PUSH_FORMAT
from webagent.trajectory.pushed.schema import Ending, Opening, PushedStep

TAGS = ["push"]
PUSHES = Bearer(Scope.RUNS_WRITE, "runs.import_run")
REFUSALS = {
    "responses": {
        409: problem_answer(
            "Another step stands here, or an earlier one is missing; or the run has ended otherwise"
        ),
        410: problem_answer("The run has ended and takes nothing more"),
        507: problem_answer("There is no room to keep it"),
    }
}


@router.post(
    "/runs",
    response={201: PushedRunOut},
    auth=PUSHES,
    tags=TAGS,
    operation_id="open_run",
    summary="Begin to push a run",
)
@once
def open_pushed_run(request: ApiRequest, opening: Opening) -> Answer:
    """The run is `running` from now until it is ended, or silent for `lease_seconds`."""
    with refusals("body"):
        run = open_run(opening=opening, user=request.user)
    return Answer(201, pushed_run_out(run), location=reverse("api:read_push", args=[run.pk]))


@router.get(
    "/runs/{uuid:run_id}/push",
    response=PushedRunOut,
    auth=PUSHES,
    tags=TAGS,
    operation_id="read_push",
    summary="Where a pushed run stands",
)
def read_push(request: ApiRequest, run_id: UUID) -> Any:
    """Which step is awaited next; for whoever pushes on after a crash."""
    return pushed_run_out(_own_run(request, run_id))


@router.put(
    "/runs/{uuid:run_id}/steps/{int:index}",
    response={200: PushedRunOut, 201: PushedRunOut},
    auth=PUSHES,
    tags=TAGS,
    operation_id="push_step",
    summary="Push a step",
    openapi_extra=REFUSALS,
)
def push_step(request: ApiRequest, run_id: UUID, index: int, step: PushedStep) -> Any:
    """Steps come one after another, from 0. The same step sent again is kept once."""
    run = _own_run(request, run_id)
    with refusals("body"):
        heard = append_step(run=run, index=index, sent=step)
    return Status(201 if heard.is_new else 200, pushed_run_out(run, heard))


@router.put(
    "/runs/{uuid:run_id}/heartbeat",
    response=PushedRunOut,
    auth=PUSHES,
    tags=TAGS,
    operation_id="keep_push",
    summary="Say that a pushed run goes on",
    openapi_extra=REFUSALS,
)
def keep_push(request: ApiRequest, run_id: UUID) -> Any:
    """A sign of life between steps that take long. It tells whether somebody asked to stop."""
    run = _own_run(request, run_id)
    with refusals("body"):
        return pushed_run_out(run, beat(run=run))


@router.put(
    "/runs/{uuid:run_id}/end",
    response=PushedRunOut,
    auth=PUSHES,
    tags=TAGS,
    operation_id="end_push",
    summary="End a pushed run",
    openapi_extra=REFUSALS,
)
def end_push(request: ApiRequest, run_id: UUID, ending: Ending) -> Any:
    """From now on the run never changes, and the evaluators judge it."""
    run = _own_run(request, run_id)
    with refusals("body", ends=True):
        end_run(run=run, sent=ending)
    return pushed_run_out(_own_run(request, run_id))


def _own_run(request: ApiRequest, run_id: UUID) -> Run:
    """A run that the caller pushes. Others', and those made here, are none of their business."""
    own = Run.objects.filter(created_by=request.user, source_format=PUSH_FORMAT)
    run = own.select_related("agent").filter(pk=run_id).first()
    if run is None:
        raise not_found("pushed run")
    return run
