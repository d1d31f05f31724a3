"""Studies, their reference verdicts, and what is judged of their runs."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from ninja import Query, Router
from pydantic import BaseModel, Field

from judging.analysis.audits.judgements import RunJudgements, opened_items
from judging.models import Evaluation, EvaluatorVersion, Study
from judging.studies.access import AUDIT, EVALUATE, record_unblindings, studies_hidden_from
from runs.api.authentication import ApiRequest, Bearer
from runs.api.bodies import filled
from runs.api.paging import Page, Paged, Paging, RowId, known_only, page_of
from runs.api.problems import Problem, first_of
from runs.api.runs import run_of
from runs.models import Scope

READS = Bearer(Scope.VERDICTS_READ, AUDIT)
LAUNCHES = Bearer(Scope.EVALUATIONS_LAUNCH, AUDIT, EVALUATE)


def audited_study(request: ApiRequest, study_id: int) -> Study:
    """The study, for a caller who is blinded to no run of it.

    Raises:
        Problem: 404 where there is none, 403 while the caller still judges a run of it.
    """
    study = first_of(Study.objects.filter(pk=study_id), "study")
    if studies_hidden_from(request.user).filter(pk=study_id).exists():
        raise Problem(
            403,
            "You still judge a run of this study, so no figure of it is told to you yet.",
            kind="blind",
        )
    return study


router = Router(tags=["studies"], auth=READS)
READS_STUDIES = Bearer(Scope.RUNS_READ)


class StudyOut(BaseModel):
    """A sample of runs that people judge under one protocol."""

    id: int
    name: str
    description: str
    is_open: bool
    labels_per_run: int
    hides_identity: bool
    created_at: datetime


class StudyPage(Page[StudyOut]):
    """Studies, newest first."""


class EvaluatorOut(BaseModel):
    """One evaluator in one version."""

    id: int
    name: str
    version: str
    kind: str
    model: str | None = Field(description="The language model that it asks, if it asks one.")


class VerdictOut(BaseModel):
    """The reference verdict of a run in a study."""

    run: UUID
    position: int = Field(description="The run's number in the study.")
    verdict: str = Field(description="success, failure or not_executable")
    origin: str = Field(description="agreed, consensus, adjudicated or imported")
    is_authoritative: bool
    rationale: str
    decided_at: datetime


class VerdictPage(Page[VerdictOut]):
    """Reference verdicts, in the order of the study."""


class EvaluationOut(BaseModel):
    """One evaluation of one run."""

    id: UUID
    run: UUID
    evaluator: EvaluatorOut
    verdict: str = Field(description="passed, failed, error or not_applicable")
    score: float | None
    reason: str = Field(description="Why there is no verdict; empty where there is one.")
    rationale: str
    details: Any
    cost: float | None = Field(description="In US dollars.")
    seconds: float | None
    created_at: datetime


class EvaluationPage(Page[EvaluationOut]):
    """Current evaluations of the runs of a study."""


class EvaluationFilters(BaseModel):
    """Which evaluations are meant."""

    evaluator: int | None = Field(None, ge=1, lt=2**63, description="The id of its version.")
    verdict: Evaluation.Verdict | None = None


@router.get("/studies", response=StudyPage, auth=READS_STUDIES, summary="List studies")
def list_studies(request: ApiRequest, paging: Paged) -> Any:
    """Studies that you may open, newest first."""
    known_only(request, Paging)
    shown = Study.objects.listed_for(request.user)
    rows, following = page_of(shown, paging, "-id")
    return StudyPage(items=[filled(StudyOut, study) for study in rows], next=following)


@router.get("/studies/{study_id}", response=StudyOut, auth=READS_STUDIES, summary="Read a study")
def read_study(request: ApiRequest, study_id: RowId) -> Any:
    """One study's protocol."""
    shown = Study.objects.listed_for(request.user)
    return filled(StudyOut, first_of(shown.filter(pk=study_id), "study"))


@router.get(
    "/studies/{study_id}/verdicts",
    response=VerdictPage,
    summary="List the reference verdicts of a study",
)
def list_verdicts(request: ApiRequest, study_id: RowId, paging: Paged) -> Any:
    """What people agreed on or adjudicated. It is noted that you saw these."""
    known_only(request, Paging)
    study = audited_study(request, study_id)
    items = study.items.filter(verdict__isnull=False).select_related("verdict")
    rows, following = page_of(items, paging, "position", "id")
    record_unblindings(user=request.user, items=rows, reason="verdicts by the API")
    return VerdictPage(
        items=[
            filled(VerdictOut, item.verdict, run=item.run_id, position=item.position)
            for item in rows
        ],
        next=following,
    )


@router.get(
    "/studies/{study_id}/evaluations",
    response=EvaluationPage,
    summary="List the evaluations of a study's runs",
)
def list_evaluations(
    request: ApiRequest,
    study_id: RowId,
    paging: Paged,
    filters: Annotated[EvaluationFilters, Query()],
) -> Any:
    """What evaluators say now of the runs of a study. It is noted that you saw these."""
    known_only(request, Paging, EvaluationFilters)
    study = audited_study(request, study_id)
    wanted = {name: value for name, value in filters.model_dump().items() if value is not None}
    found = Evaluation.objects.filter(
        run__in=study.items.order_by().values("run"), is_current=True, **wanted
    )
    rows, following = page_of(found.select_related("evaluator").defer("record"), paging, "id")
    seen = study.items.filter(run__in=[row.run_id for row in rows])
    record_unblindings(user=request.user, items=seen, reason="evaluations by the API")
    return EvaluationPage(items=[evaluation_out(row) for row in rows], next=following)


def evaluator_out(version: EvaluatorVersion) -> EvaluatorOut:
    """The version as the API gives it."""
    return filled(
        EvaluatorOut,
        version,
        id=version.pk,
        version=version.full_version,
        model=version.model or None,
    )


def evaluation_out(row: Evaluation) -> EvaluationOut:
    """An evaluation that was read with its evaluator."""
    return filled(
        EvaluationOut,
        row,
        id=row.pk,
        run=row.run_id,
        evaluator=evaluator_out(row.evaluator),
        cost=None if row.cost is None else float(row.cost),
    )


runs_router = Router(tags=["runs"], auth=Bearer(Scope.VERDICTS_READ))


class ReferenceOut(BaseModel):
    """A reference verdict of the run."""

    study: int
    verdict: str
    origin: str
    is_authoritative: bool
    rationale: str


class JudgedBy(EvaluationOut):
    """What one evaluator says, and which cell of its matrix that is."""

    cell: str | None = Field(description="tp, fn, tn, fp or none; null without a reference.")


class JudgementsOut(BaseModel):
    """Empty of all that is hidden from the caller."""

    run: UUID
    is_blind: bool
    references: list[ReferenceOut]
    evaluations: list[JudgedBy] = Field(description="For those who may read audits.")


@runs_router.get(
    "/runs/{uuid:run_id}/judgements", response=JudgementsOut, summary="Read what is judged of a run"
)
def read_judgements(request: ApiRequest, run_id: UUID) -> Any:
    """Reference verdicts and current evaluations. It is noted that you saw these."""
    known_only(request)
    found = RunJudgements(run_of(request, run_id), request.user)
    record_unblindings(user=request.user, items=opened_items(found), reason="judgements of a run")
    return JudgementsOut(
        run=run_id,
        is_blind=found.is_blind,
        references=[
            filled(ReferenceOut, each, study=each.item.study_id) for each in found.references
        ],
        evaluations=[
            JudgedBy(**evaluation_out(line.evaluation).model_dump(), cell=line.cell or None)
            for line in found.evaluators
        ],
    )
