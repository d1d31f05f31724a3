"""Having hints written: estimate, launch, watch, stop."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.urls import reverse
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from judging.analysis.hint_effects.source_runs import MOST_PER_TASK
from judging.analysis.hint_effects.writing import HintWritingForm, planned, started
from runs.api.authentication import ApiRequest, Bearer
from runs.api.bodies import Name, filled
from runs.api.idempotency import Answer, once
from runs.api.problems import Problem, form_errors, invalid, not_found
from runs.catalogue.language_models import ModelUnavailableError, offered_models
from runs.knowledge.hints.pages import hint_jobs, open_jobs
from runs.knowledge.learning import cancel_learning
from runs.models import LearningJob, Scope
from runs.queue.paid_work import WorkRefusedError
from webagent.knowledge.entries import Level
from webagent.knowledge.hints import LONGEST_PART
from webagent.trajectory.values import Money

router = Router(
    tags=["hints"],
    auth=Bearer(
        Scope.EVALUATIONS_LAUNCH,
        "judging.view_audit",
        "runs.view_experiment",
        "runs.view_hint",
        "runs.add_hint",
    ),
)
Part = Annotated[str, Field(max_length=LONGEST_PART)]


class WordingIn(BaseModel):
    """A changed prompt; empty parts keep the default."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=20)
    system: Part = ""
    concrete: Part = ""
    abstract: Part = ""
    insights: Part = ""


class HintJobIn(BaseModel):
    """From which runs hints are written, and by which model: what the form on the page asks."""

    model_config = ConfigDict(extra="forbid")

    task_set: Name = Field("", description="Of all where empty.")
    experiment: int | None = Field(None, ge=1, lt=2**63)
    agent: Name = ""
    verdict: Name = Field("reward", description="Who says that runs succeeded.")
    levels: list[Level] = Field(list(Level), min_length=1, max_length=len(Level))
    per_task: int = Field(
        1, ge=1, le=MOST_PER_TASK, description="Runs that a hint is written from."
    )
    model: Name = Field(description="An entry of the file of models.")
    max_cost: Money | None = Field(
        None, gt=0, max_digits=14, decimal_places=2, description="In US dollars."
    )
    wording: WordingIn | None = None


class HintEstimateOut(BaseModel):
    """Estimated tokens and cost, from the logs of some of the runs."""

    hints: int
    runs: int = Field(description="That they are written from.")
    input_tokens: int
    cost: float | None = Field(description="In US dollars, if every hint passes at once.")
    most: float | None = Field(description="If hints must be rewritten.")


class HintJobOut(BaseModel):
    """Hints that are being written, and how far that is."""

    id: UUID
    state: str = Field(
        description="queued, running, finished, cancelled, stopped_by_budget or failed"
    )
    is_active: bool = Field(description="Whether it may still change by itself.")
    problem: str
    model: str
    n_total: int | None
    n_done: int
    n_problems: int = Field(description="Hints that no reply passed the checks for.")
    spent: Money = Field(description="In US dollars.")
    max_cost: Money | None
    estimate: dict[str, Any]
    created_at: datetime


@router.post("/hint-estimates", response=HintEstimateOut, summary="Estimate the writing of hints")
def estimate_hints(request: ApiRequest, asked: HintJobIn) -> Any:
    """What the job would take. No model is asked."""
    sources, found = planned(request, _form(request, asked))
    return filled(HintEstimateOut, found, runs=len(sources.every))


@router.post("/hint-jobs", response={202: HintJobOut}, summary="Have hints written")
@once
def launch_hint_job(request: ApiRequest, asked: HintJobIn) -> Answer:
    """Queue the writing. `Location` is where it can be watched."""
    try:
        job = started(request, _form(request, asked))
    except WorkRefusedError as error:
        raise Problem(409, str(error)) from error
    return _answer(job)


@router.get(
    "/hint-jobs/{uuid:hint_job_id}", response=HintJobOut, summary="Watch hints being written"
)
def read_hint_job(request: ApiRequest, hint_job_id: UUID) -> Any:
    """How far it is, and what it has cost."""
    return _out(_job(request, hint_job_id))


@router.post(
    "/hint-jobs/{uuid:hint_job_id}/cancel", response={202: HintJobOut}, summary="Stop writing hints"
)
@once
def cancel_hint_job(request: ApiRequest, hint_job_id: UUID) -> Answer:
    """Ask the job to stop; what is written stays."""
    cancel_learning(job=_job(request, hint_job_id))
    return _answer(_job(request, hint_job_id))


def _answer(job: LearningJob) -> Answer:
    return Answer(202, _out(job), location=reverse("api:read_hint_job", args=[job.pk]))


def _job(request: ApiRequest, hint_job_id: UUID) -> LearningJob:
    job = hint_jobs().filter(pk=hint_job_id).first()
    if job is None or not open_jobs([job], request.user):
        raise not_found("hint job")
    return job


def _form(request: ApiRequest, asked: HintJobIn) -> HintWritingForm:
    """Raises a problem that names what is wrong."""
    try:
        models = offered_models()
    except ModelUnavailableError as error:
        raise Problem(409, str(error)) from error
    given = asked.model_dump(mode="json", exclude={"wording"}, exclude_none=True)
    words = asked.wording.model_dump() if asked.wording else {}
    form = HintWritingForm(
        given | {f"wording_{part}": text for part, text in words.items()},
        user=request.user,
        models=models,
    )
    if not form.is_valid():
        named = ((field.replace(".wording_", ".wording."), why) for field, why in form_errors(form))
        raise invalid(*named)
    return form


def _out(job: LearningJob) -> HintJobOut:
    return filled(HintJobOut, job, state=str(job.state))
