"""Launching reruns, watching and stopping them."""

from typing import Any, Literal
from uuid import UUID, uuid4

from django.urls import reverse
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from runs.api.authentication import ApiRequest, Bearer
from runs.api.bodies import Name, filled
from runs.api.idempotency import Answer, once
from runs.api.problems import Problem, first_of, form_errors, invalid, not_found
from runs.launching.agents import rerun_offer
from runs.launching.reruns.services import (
    MAX_NEW_RUNS,
    Launch,
    RerunError,
    cancel_run,
    cancel_runs,
    launch_reruns,
)
from runs.launching.reruns.views import MAX_TRIALS, RerunForm
from runs.models import Run, RunStatus, Scope
from runs.models.runs.queries import RunQuerySet

router = Router(tags=["reruns"], auth=Bearer(Scope.RERUNS_LAUNCH, "runs.rerun_run"))


class RerunIn(BaseModel):
    """Which runs are to run again, and how: what the form on the page asks."""

    model_config = ConfigDict(extra="forbid")

    runs: list[UUID] = Field(min_length=1, max_length=MAX_NEW_RUNS)
    agent: Name = Field("", description="As before where empty; see `GET /rerun-agents`.")
    seeds: Literal["same", "new", "fixed"] = "same"
    seed: int | None = Field(None, ge=0, lt=2**31, description="Where `seeds` is fixed.")
    trials: int = Field(1, ge=1, le=MAX_TRIALS)
    max_steps: int | None = Field(None, ge=1, le=1000, description="As before where null.")
    policy: Name = Field("", description="Id of a retry policy, `none`, or as before where empty.")
    experiment: Name = Field("", description="Gathers the new runs under this name.")


class AgentOut(BaseModel):
    """An agent that runs can be repeated with."""

    agent: str
    words: str


class AgentsOut(BaseModel):
    """All of them."""

    items: list[AgentOut]


class RerunOut(BaseModel):
    """One of the new runs."""

    id: UUID
    rerun_of: UUID | None
    trial: int
    attempt: int
    status: str
    outcome: str | None
    is_cancelling: bool = Field(description="Whether it was asked to stop and has not yet.")


class Refused(BaseModel):
    """A run that cannot run again."""

    run: UUID
    reason: str


class LaunchOut(BaseModel):
    """Runs that were launched together, and where they are."""

    id: UUID
    is_done: bool = Field(description="Whether nothing of it will change by itself.")
    counts: dict[str, int] = Field(description="Runs by status.")
    runs: list[RerunOut]
    refused: list[Refused] = Field(description="Said once, in the answer to the launch.")


@router.get("/rerun-agents", response=AgentsOut, summary="List the agents that can rerun")
def list_rerun_agents(request: ApiRequest) -> Any:
    """What `agent` of a launch may be."""
    offered = RerunForm(same_words=None, user=request.user).offered
    return AgentsOut(items=[AgentOut(agent=key, words=words) for key, words in offered.choices])


@router.post(
    "/reruns",
    response={202: LaunchOut},
    operation_id="launch_reruns",
    url_name="launch_reruns",
    summary="Run runs again",
)
@once
def launch(request: ApiRequest, asked: RerunIn) -> Answer:
    """Queue new runs of the same tasks. `Location` is where they can be watched."""
    runs = _sources(request, asked.runs)
    offer = rerun_offer(runs)
    given = {name: value for name, value in asked.model_dump().items() if value is not None}
    form = RerunForm({**given, "token": uuid4()}, same_words=offer.same_words, user=request.user)
    if not form.is_valid():
        raise invalid(*form_errors(form))
    try:
        launched = launch_reruns(runs=runs, rerun_request=form.rerun_request(), user=request.user)
    except RerunError as error:
        raise Problem(409, str(error)) from error
    return _launched(request, launched)


@router.get("/reruns/{uuid:launch_id}", response=LaunchOut, summary="Watch reruns")
def read_reruns(request: ApiRequest, launch_id: UUID) -> Any:
    """Where the runs of one launch are. Later attempts stand in the place of earlier ones."""
    return _state(request, launch_id)


@router.post("/reruns/{uuid:launch_id}/cancel", response={202: LaunchOut}, summary="Stop reruns")
@once
def cancel_reruns(request: ApiRequest, launch_id: UUID) -> Answer:
    """Ask the runs of one launch to stop: those that wait never start."""
    runs = _of_launch(request, launch_id)
    if not runs.exists():
        raise not_found("launch")
    cancel_runs(runs=runs)
    return Answer(202, _state(request, launch_id), location=_address(launch_id))


@router.post(
    "/runs/{uuid:run_id}/cancel",
    response={202: RerunOut},
    operation_id="cancel_run",
    url_name="cancel_run",
    summary="Stop a run",
)
@once
def cancel_one(request: ApiRequest, run_id: UUID) -> Answer:
    """Ask one run to stop; nothing happens where it has ended already."""
    cancel_run(run=first_of(Run.objects.visible_to(request.user, [run_id]), "run"))
    run = Run.objects.visible_to(request.user, [run_id]).get()
    return Answer(202, _run_out(run), location=reverse("api:read_run", args=[run_id]))


def _sources(request: ApiRequest, ids: list[UUID]) -> list[Run]:
    shown = Run.objects.visible_to(request.user, ids).select_related("task__task_set", "agent")
    found = {run.pk: run for run in shown}
    missing = [place for place, run_id in enumerate(ids) if run_id not in found]
    if missing:
        raise invalid(*((f"body.runs.{place}", "no run that you may see") for place in missing))
    return list(found.values())


def _launched(request: ApiRequest, launched: Launch) -> Answer:
    launch_id = launched.queued[0].launch
    if launch_id is None:
        raise AssertionError("runs that are launched together have a launch")
    state = _state(request, launch_id)
    state.refused = [Refused(run=run.pk, reason=why) for run, why in launched.refused]
    return Answer(202, state, location=_address(launch_id))


def _address(launch_id: UUID) -> str:
    return reverse("api:read_reruns", args=[launch_id])


def _of_launch(request: ApiRequest, launch_id: UUID) -> RunQuerySet[Run]:
    keys = list(Run.objects.filter(launch=launch_id).values_list("pk", flat=True))
    return Run.objects.visible_to(request.user, keys).latest_attempts()


def _state(request: ApiRequest, launch_id: UUID) -> LaunchOut:
    found = _of_launch(request, launch_id).order_by("task__external_id", "trial", "pk")
    runs = [_run_out(run) for run in found.defer("record", "evidence")[:MAX_NEW_RUNS]]
    if not runs:
        raise not_found("launch")
    counts = dict.fromkeys(RunStatus.values, 0)
    for run in runs:
        counts[run.status] += 1
    is_done = all(run.status not in RunStatus.active() for run in runs)
    return LaunchOut(id=launch_id, is_done=is_done, counts=counts, runs=runs, refused=[])


def _run_out(run: Any) -> RerunOut:
    return filled(
        RerunOut,
        run,
        rerun_of=run.rerun_of_id,
        status=run.shown_status,
        outcome=run.shown_outcome,
        is_cancelling=run.is_active and run.cancel_requested_at is not None,
    )
