"""Pushing a run while it happens (opened, step by step, ended), or whole ones in an archive."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from django.conf import settings
from django.urls import reverse
from ninja import Router, Status
from pydantic import BaseModel, Field

from runs.api.assembly import problem_answer
from runs.api.authentication import ApiRequest, Bearer
from runs.api.bodies import filled, spooled
from runs.api.idempotency import Answer, answer_once, once
from runs.api.problems import Problem, first_of, invalid
from runs.api.runs import router as router
from runs.imports.pushing import (
    RunEndedError,
    StepRefusedError,
    append_step,
    beat,
    end_run,
    open_run,
)
from runs.imports.services import start_import
from runs.models import ImportJob, Run, Scope
from runs.models.extension import extension
from webagent.trajectory.formats.pushed.runs import PUSH_FORMAT, Ending, Opening, PushedStep
from webagent.trajectory.intake import InputError

NO_STUDIES = "No scope brings in a study; import its bundle in the browser."
ENDED = "The run has ended and takes nothing more; read it to see how."


@contextmanager
def refusals(*, ends: bool = False) -> Iterator[None]:
    """Turn the service's refusals into problems, of fields of the body.

    Args:
        ends: whether the word was the end, which only another end can contradict.
    """
    try:
        yield
    except InputError as error:
        raise invalid((".".join(filter(None, ("body", error.field))), str(error))) from None
    except StepRefusedError as error:
        raise Problem(
            409, str(error), kind="step-refused", errors=[("next_step", str(error.next_step))]
        ) from None
    except RunEndedError:
        status = 409 if ends else 410
        raise Problem(status, ENDED, kind="run-ended") from None


class PushedRunOut(BaseModel):
    """Where a pushed run stands."""

    id: UUID
    state: Literal["running", "ended"]
    next_step: int = Field(description="The index of the step that is awaited.")
    is_to_cancel: bool = Field(description="Whether somebody here asked the run to stop.")
    lease_seconds: int = Field(description="After so long a silence the run ends as incomplete.")
    page: str = Field(description="The path of its page.")


class RunImported(BaseModel):
    """One run of an import."""

    source: str
    run: UUID


class RunRejected(BaseModel):
    """One run of an import that was not taken; nothing of it is here."""

    source: str
    field: str
    reason: str


class ImportProblem(BaseModel):
    """Something that is missing in a run that was taken, or was left out of it."""

    source: str
    file: str
    field: str
    reason: str


class ImportOut(BaseModel):
    """How far an import is, and what became of its runs."""

    id: UUID
    state: str = Field(description="queued, running, finished, cancelled or failed.")
    n_done: int
    n_total: int | None
    problem: str
    imported: list[RunImported] = Field(description="New here; the first 200.")
    already_there: list[RunImported] = Field(description="Here before; the first 200.")
    rejected: list[RunRejected] = Field(description="Not taken; the first 200.")
    problems: list[ImportProblem] = Field(
        description="Missing in or left out of runs that were taken; the first 200."
    )
    n_problems: int = Field(description="How many problems there are in all.")
    unread: list[str] = Field(description="Files that no importer takes; the first 200.")
    n_unread: int = Field(description="How many such files there are in all.")


def pushed_run_out(run: Run) -> PushedRunOut:
    """The run for its own side."""
    return PushedRunOut(
        id=run.pk,
        state="running" if run.is_active else "ended",
        next_step=run.n_steps,
        is_to_cancel=run.cancel_requested_at is not None,
        lease_seconds=settings.ENV.PUSH_LEASE_S,
        page=reverse("runs:run_detail", args=[run.pk]),
    )


def import_out(job: ImportJob) -> ImportOut:
    """An import for whoever sent it."""
    report = job.report or {}
    counts = report.get("counts", {})
    return filled(
        ImportOut,
        job,
        imported=report.get("imported", ()),
        already_there=report.get("already_there", ()),
        rejected=[*map(_with_line, report.get("rejected", ()))],
        problems=[*map(_with_line, report.get("problems", ()))],
        n_problems=counts.get("problems", 0),
        unread=report.get("unread", ()),
        n_unread=counts.get("unread", 0),
    )


def _with_line(problem: dict[str, Any]) -> dict[str, Any]:
    """The field with the line before it, where that is known."""
    where = f"line {problem['line']} {problem['field']}" if "line" in problem else problem["field"]
    return problem | {"field": where.strip()}


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
    with refusals():
        run = open_run(opening=opening, user=request.user)
    return Answer(201, pushed_run_out(run), location=reverse("api:read_push", args=[run.pk]))


@router.get(
    "/runs/{uuid:run_id}/push",
    response=PushedRunOut,
    auth=PUSHES,
    tags=TAGS,
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
    summary="Push a step",
    openapi_extra=REFUSALS,
)
def push_step(request: ApiRequest, run_id: UUID, index: int, step: PushedStep) -> Any:
    """Steps come one after another, from 0. The same step sent again is kept once."""
    run = _own_run(request, run_id)
    with refusals():
        row, is_new = append_step(run=run, index=index, sent=step)
    return Status(201 if is_new else 200, pushed_run_out(row))


@router.put(
    "/runs/{uuid:run_id}/heartbeat",
    response=PushedRunOut,
    auth=PUSHES,
    tags=TAGS,
    summary="Say that a pushed run goes on",
    openapi_extra=REFUSALS,
)
def keep_push(request: ApiRequest, run_id: UUID) -> Any:
    """A sign of life between steps that take long. It tells whether somebody asked to stop."""
    with refusals():
        return pushed_run_out(beat(run=_own_run(request, run_id)))


@router.put(
    "/runs/{uuid:run_id}/end",
    response=PushedRunOut,
    auth=PUSHES,
    tags=TAGS,
    summary="End a pushed run",
    openapi_extra=REFUSALS,
)
def end_push(request: ApiRequest, run_id: UUID, ending: Ending) -> Any:
    """From now on the run never changes, and the evaluators judge it."""
    run = _own_run(request, run_id)
    with refusals(ends=True):
        end_run(run=run, sent=ending)
    return pushed_run_out(_own_run(request, run_id))


def _own_run(request: ApiRequest, run_id: UUID) -> Run:
    """A run that the caller pushes. Others', and those made here, are none of their business."""
    own = Run.objects.filter(created_by=request.user, source_format=PUSH_FORMAT)
    return first_of(own.select_related("agent").filter(pk=run_id), "pushed run")


imports_router = Router(tags=TAGS, auth=PUSHES)
BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@imports_router.post(
    "/imports", response={202: ImportOut}, summary="Push whole runs", openapi_extra=BODY
)
def import_runs(request: ApiRequest) -> Any:
    """A zip of runs in the native format, or in any other that is known; no study's bundle.

    The same content is stored once, however often it is sent.
    """
    with closing(spooled(request, "push.zip")) as file, refusals():
        if extension().verdicts.holds_study(Path(file.temporary_file_path())):
            raise Problem(403, NO_STUDIES, kind="scope-missing")

        def effect() -> Answer:
            job = start_import(file=file, user=request.user, format="auto")
            place = reverse("api:read_import", args=[job.pk])
            return Answer(202, import_out(job), location=place)

        return answer_once(request, effect)


@imports_router.get("/imports/{uuid:job_id}", response=ImportOut, summary="How far an import is")
def read_import(request: ApiRequest, job_id: UUID) -> Any:
    """One import of the caller's own."""
    jobs = ImportJob.objects.filter(created_by=request.user, pk=job_id)
    return import_out(first_of(jobs, "import"))
