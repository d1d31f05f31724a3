"""Having runs evaluated: launch, watch, stop."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.urls import reverse
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field, model_validator

from judging.api.studies import LAUNCHES, READS, EvaluatorOut, audited_study, evaluator_out
from judging.evaluating.forms import MOST_SELECTED, EvaluateForm, selected_runs
from judging.evaluating.services import batches_shown_to, cancel_batch
from judging.evaluators.registry import evaluator_choices
from judging.models import Evaluation, EvaluationBatch, EvaluatorVersion, Study
from runs.api.authentication import ApiRequest
from runs.api.bodies import Name, filled
from runs.api.idempotency import Answer, once
from runs.api.paging import Page, Paged, Paging, known_only, page_of
from runs.api.problems import Problem, first_of, form_errors, invalid
from runs.queue.paid_work import WorkRefusedError
from webagent.trajectory.values import Money

router = Router(tags=["evaluations"], auth=READS)


class LaunchableOut(BaseModel):
    """An evaluator that can be launched."""

    evaluator: str
    words: str
    asks_model: bool = Field(description="Whether `model` must be given, or is its own.")
    model: str | None = Field(description="The language model that a saved version asks.")


class EvaluatorsOut(BaseModel):
    """What can be launched, and which versions have evaluated runs."""

    launchable: list[LaunchableOut]
    versions: list[EvaluatorOut]


class BatchIn(BaseModel):
    """What is to be evaluated, by what, within which bounds: what the form on the page asks."""

    model_config = ConfigDict(extra="forbid")

    study: int | None = Field(None, ge=1, lt=2**63, description="All runs of a study …")
    runs: list[UUID] = Field([], max_length=MOST_SELECTED, description="… or these.")
    evaluator: Name = Field(description="One of `GET /evaluators`.")
    model: Name = Field("", description="The language model that it is to ask.")
    again: EvaluationBatch.Again = Field(
        EvaluationBatch.Again.NEVER, description="Which runs although they have an evaluation."
    )
    limit: int | None = Field(None, ge=1, le=10_000_000, description="At most so many runs.")
    max_cost: Money | None = Field(
        None, ge=0, max_digits=14, decimal_places=6, description="In US dollars."
    )

    @model_validator(mode="after")
    def _over_one_thing(self) -> "BatchIn":
        if (self.study is None) is not bool(self.runs):
            raise ValueError("say either `study` or `runs`")
        return self


class BatchOut(BaseModel):
    """One evaluator over some runs, and how far it is."""

    id: UUID
    state: str = Field(
        description="queued, running, finished, cancelled, stopped_by_budget or failed"
    )
    is_active: bool = Field(description="Whether it may still change by itself.")
    problem: str = Field(description="Why it stopped; empty while it goes well.")
    study: int | None
    evaluator: EvaluatorOut
    model: str | None
    again: str
    n_total: int | None = Field(description="Null until that is known.")
    n_done: int
    verdicts: dict[str, int]
    spent: float = Field(description="In US dollars.")
    max_cost: float | None
    is_cancelling: bool
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None


class BatchPage(Page[BatchOut]):
    """Batches of evaluations, newest first."""


@router.get("/evaluators", response=EvaluatorsOut, summary="List evaluators")
def list_evaluators(request: ApiRequest) -> Any:
    """What `evaluator` of a launch may be, and the versions by whose id evaluations are found."""
    known_only(request)
    return EvaluatorsOut(
        launchable=[
            LaunchableOut(
                evaluator=choice.key,
                words=choice.words,
                asks_model=choice.asks_chosen,
                model=choice.model or None,
            )
            for choice in evaluator_choices()
        ],
        versions=[evaluator_out(version) for version in EvaluatorVersion.objects.all()],
    )


@router.post("/batches", response={202: BatchOut}, auth=LAUNCHES, summary="Have runs evaluated")
@once
def launch_batch(request: ApiRequest, asked: BatchIn) -> Answer:
    """Queue one evaluator over the runs of a study, or over these runs. `Location` is where it
    can be watched. The same that is under way already is not queued twice.
    """
    study = None if asked.study is None else _study(request, asked.study)
    run_ids = selected_runs(request.user, list(dict.fromkeys(asked.runs)))
    if missing := [place for place, run_id in enumerate(asked.runs) if run_id not in run_ids]:
        reason = "no run that has ended and whose verdicts you may know"
        raise invalid(*((f"body.runs.{place}", reason) for place in missing))
    try:
        (batch,) = _form(asked, study, run_ids).start(request.user)
    except WorkRefusedError as error:
        raise Problem(409, str(error)) from error
    return _answer(request, batch.pk)


@router.get("/batches", response=BatchPage, summary="List batches of evaluations")
def list_batches(request: ApiRequest, paging: Paged) -> Any:
    """Batches over nothing that you still judge, newest first."""
    known_only(request, Paging)
    rows, following = page_of(batches_shown_to(request.user), paging, "-created_at", "-id")
    return BatchPage(items=[_out(batch) for batch in rows], next=following)


@router.get("/batches/{uuid:batch_id}", response=BatchOut, summary="Watch a batch of evaluations")
def read_batch(request: ApiRequest, batch_id: UUID) -> Any:
    """How far it is, and what it has cost."""
    return _out(_batch(request, batch_id))


@router.post(
    "/batches/{uuid:batch_id}/cancel",
    response={202: BatchOut},
    auth=LAUNCHES,
    operation_id="cancel_batch",
    url_name="cancel_batch",
    summary="Stop a batch of evaluations",
)
@once
def cancel(request: ApiRequest, batch_id: UUID) -> Answer:
    """Ask it to stop; what is done stays done."""
    cancel_batch(batch=_batch(request, batch_id))
    return _answer(request, batch_id)


def _study(request: ApiRequest, study_id: int) -> Study:
    if not Study.objects.filter(pk=study_id).exists():
        raise invalid(("body.study", "there is no such study"))
    return audited_study(request, study_id)


def _form(asked: BatchIn, study: Study | None, run_ids: list[UUID]) -> EvaluateForm:
    """The form of the page, filled in and valid."""
    given = asked.model_dump(mode="json", include={"model", "again", "limit", "max_cost"})
    form = EvaluateForm({**given, "evaluators": [asked.evaluator]}, study=study, run_ids=run_ids)
    if not form.is_valid():
        names = {"body.evaluators": "body.evaluator"}
        errors = [(names.get(field, field), reason) for field, reason in form_errors(form)]
        raise invalid(*errors, detail=form.why_no_model)
    return form


def _answer(request: ApiRequest, batch_id: UUID) -> Answer:
    location = reverse("api:read_batch", args=[batch_id])
    return Answer(202, _out(_batch(request, batch_id)), location=location)


def _batch(request: ApiRequest, batch_id: UUID) -> EvaluationBatch:
    return first_of(batches_shown_to(request.user).filter(pk=batch_id), "batch")


def _out(batch: EvaluationBatch) -> BatchOut:
    return filled(
        BatchOut,
        batch,
        id=batch.pk,
        study=batch.study_id,
        evaluator=evaluator_out(batch.evaluator),
        model=batch.model or None,
        verdicts={value: getattr(batch, f"n_{value}") for value in Evaluation.Verdict.values},
        spent=float(batch.spent),
        max_cost=None if batch.max_cost is None else float(batch.max_cost),
        is_cancelling=batch.cancel_requested_at is not None,
    )
