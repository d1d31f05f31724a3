"""Experiments: launched, and how far they are. Their figures are read beside verdicts."""

import json
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.urls import reverse
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from runs.api.authentication import ApiRequest, Bearer
from runs.api.bodies import Name, filled
from runs.api.idempotency import Answer, once
from runs.api.paging import Page, Paged, Paging, RowId, known_only, page_of
from runs.api.problems import Problem, first_of, form_errors, invalid
from runs.launching.experiments.estimates import estimate
from runs.launching.experiments.forms import ExperimentForm
from runs.launching.experiments.plans import MAX_TRIALS, Plan
from runs.launching.experiments.progress import Progress, progress_of_each
from runs.launching.experiments.selection import MOST_ARMS, NO_BUDGET, PlanError
from runs.launching.experiments.services import launch_experiment
from runs.models import Experiment, Scope

router = Router(tags=["experiments"], auth=Bearer(Scope.RUNS_READ, "runs.view_experiment"))
LAUNCHES = Bearer(Scope.RERUNS_LAUNCH, "runs.rerun_run", "runs.view_experiment")
MOST_AGENTS = 100


class Counts(BaseModel):
    """Runs by where they are in the queue, each trial once."""

    total: int
    done: int
    running: int
    queued: int
    cancelled: int
    errors: int = Field(description="Of those done: ended in an error that nobody tries again.")


class ExperimentOut(BaseModel):
    """Runs that belong together."""

    id: int
    name: str
    description: str
    state: str = Field(description="waiting, running, paused, cancelled or finished")
    runs: Counts
    created_at: datetime


class AgentIn(BaseModel):
    """An agent by its kind and what is set of it."""

    model_config = ConfigDict(extra="forbid")

    agent: str = Field(max_length=200, pattern=r"^[\w.-]+$", description="Its kind.")
    config: dict[str, JsonValue] = {}


class ExperimentIn(BaseModel):
    """Which agents try which tasks, and how: what the form on the page asks."""

    model_config = ConfigDict(extra="forbid")

    name: Name
    task_set: Name
    sites: list[Name] = Field([], max_length=100)
    kinds: list[Name] = Field([], max_length=100)
    tasks: list[Name] = Field([], max_length=10_000, description="All of the above where empty.")
    feasible_only: bool = True
    agents: list[AgentIn] = Field(min_length=1, max_length=MOST_AGENTS)
    trials: int = Field(1, ge=1, le=MAX_TRIALS)
    seeds: Name = Field("", description="0-2 or 4,8,15 or 7+; drawn where empty.")
    max_steps: list[int] = Field(
        [], max_length=MOST_ARMS, description="Several: each agent under every limit."
    )
    knowledge_tokens: list[int | None] = Field(
        [],
        max_length=MOST_ARMS,
        description="Budgets of web knowledge, null for none; several: each agent under all.",
    )
    policy: int | None = Field(None, ge=1, lt=2**63, description="Id of a retry policy.")
    parallelism: int | None = Field(None, ge=1, le=1000)
    in_background: bool = False
    waits_for_sites: bool = False


class AgentEstimateOut(BaseModel):
    """What the runs of one agent take, told from past runs."""

    agent: str
    config: dict[str, JsonValue]
    runs: int
    basis: str | None = Field(description="Which past runs; null without any.")
    seconds_per_run: float | None = Field(description="Median.")
    cost_per_run: float | None = Field(description="Median, in US dollars.")


class ExperimentEstimateOut(BaseModel):
    """What a plan takes. What no past run tells is null."""

    runs: int
    browsers: int
    wall_seconds: float | None
    seconds_complete: bool
    cost: float | None = Field(description="In US dollars.")
    cost_complete: bool
    agents: list[AgentEstimateOut]


class ExperimentPage(Page[ExperimentOut]):
    """Experiments, newest first."""


@router.get("/experiments", response=ExperimentPage, summary="List experiments")
def list_experiments(request: ApiRequest, paging: Paged) -> Any:
    """Experiments whose name you may know, newest first."""
    known_only(request, Paging)
    shown = Experiment.objects.visible_to(request.user).defer("plan")
    rows, following = page_of(shown, paging, "-created_at", "-id")
    found = progress_of_each(rows, request.user)
    return ExperimentPage(items=[_out(progress) for progress in found], next=following)


@router.get("/experiments/{experiment_id}", response=ExperimentOut, summary="Read an experiment")
def read_experiment(request: ApiRequest, experiment_id: RowId) -> Any:
    """One experiment and how far it is."""
    shown = Experiment.objects.visible_to(request.user)
    experiment = first_of(shown.filter(pk=experiment_id), "experiment")
    (progress,) = progress_of_each([experiment], request.user)
    return _out(progress)


@router.post(
    "/experiments",
    response={202: ExperimentOut},
    auth=LAUNCHES,
    operation_id="launch_experiment",
    url_name="launch_experiment",
    summary="Launch an experiment",
)
@once
def launch(request: ApiRequest, asked: ExperimentIn) -> Answer:
    """Queue every run of the plan, all or none. `Location` is where it can be watched."""
    plan = _plan(request, asked)
    try:
        experiment = launch_experiment(plan=plan, token=uuid4(), user=request.user).experiment
    except PlanError as error:
        raise Problem(409, str(error)) from error
    (progress,) = progress_of_each([experiment], request.user)
    place = reverse("api:read_experiment", args=[experiment.pk])
    return Answer(202, _out(progress), location=place)


@router.post(
    "/experiment-estimates",
    response=ExperimentEstimateOut,
    auth=LAUNCHES,
    summary="Estimate an experiment",
)
def estimate_experiment(request: ApiRequest, asked: ExperimentIn) -> Any:
    """What the plan would take. Nothing is launched."""
    found = estimate(_plan(request, asked), request.user)
    return filled(
        ExperimentEstimateOut,
        found,
        runs=found.n_runs,
        seconds_complete=found.is_time_complete,
        cost_complete=found.is_cost_complete,
        agents=[
            AgentEstimateOut(
                agent=each.agent.name,
                config=each.agent.config or {},
                runs=each.n_runs,
                basis=each.basis or None,
                seconds_per_run=each.seconds.median if each.seconds else None,
                cost_per_run=each.cost.median if each.cost and each.model else None,
            )
            for each in found.agents
        ],
    )


_NAMES = {"body.budgets": "body.knowledge_tokens", "body.more_agents": "body.agents"}
"""Fields of the form that the body names otherwise."""


def _plan(request: ApiRequest, asked: ExperimentIn) -> Plan:
    """Raises a problem that names what is wrong."""
    given = {
        **asked.model_dump(exclude={"agents", "max_steps", "knowledge_tokens"}, exclude_none=True),
        "tasks": " ".join(asked.tasks),
        "agents": [],
        "more_agents": "\n".join(
            f"{each.agent}:{json.dumps(each.config)}" for each in asked.agents
        ),
        "max_steps": " ".join(map(str, asked.max_steps)),
        "budgets": " ".join(
            NO_BUDGET if each is None else str(each) for each in asked.knowledge_tokens
        ),
        "token": str(uuid4()),
    }
    form = ExperimentForm(given, user=request.user)
    if not form.is_valid() or form.plan is None:
        raise invalid(*((_NAMES.get(field, field), why) for field, why in form_errors(form)))
    return form.plan


def _out(progress: Progress) -> ExperimentOut:
    runs = filled(Counts, progress)
    return filled(ExperimentOut, progress.experiment, state=progress.state, runs=runs)
