"""Studies, their reference verdicts, and what is judged of their runs."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from ninja import Query, Router
from pydantic import BaseModel, Field

from judging.analysis.audits.comparing.studies import two_studies
from judging.analysis.audits.comparing.study_reports import TWO_STUDIES
from judging.analysis.audits.comparing.views import record_reading_of_tasks
from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.judgements import RunJudgements, opened_items
from judging.analysis.audits.query import AuditQuery, NoVerdict, Pairing, Unsure
from judging.analysis.audits.reports import AUDIT as REPORTS
from judging.analysis.audits.reports import check_known_split, check_split
from judging.analysis.experiments.pairs import By
from judging.api.figures import TableOut, table_out
from judging.models import Evaluation, EvaluatorVersion, Study
from judging.studies.access import AUDIT, EVALUATE, record_unblindings, studies_hidden_from
from runs.api.authentication import ApiRequest, Bearer
from runs.api.bodies import filled
from runs.api.paging import Page, Paged, Paging, RowId, known_only, page_of
from runs.api.problems import Problem, first_of, invalid, not_found
from runs.api.runs import run_of
from runs.models import Scope
from runs.models.parsing import QueryError


class Counting(BaseModel):
    """How the figures of an audit count, as on its pages."""

    no_verdict: NoVerdict = Field(
        NoVerdict.LEFT_OUT,
        description="Whether a run without a verdict is left out or counts against the evaluator.",
    )
    split: str = Field(
        "", description="The split of the tasks that matrices, figures and rates are of."
    )
    unsure: Unsure = Field(
        Unsure.IN, description="Whether “unsure” is an answer like others in agreement."
    )
    pairing: Pairing = Field(
        Pairing.PEOPLE,
        description="Whether agreement is between people, or first label against second.",
    )


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


@router.get(
    "/studies/{study_id}/tables/{name}", response=TableOut, summary="Read a table of an audit"
)
def read_audit_table(
    request: ApiRequest, study_id: RowId, name: str, counting: Query[Counting]
) -> Any:
    """One of the tables that the page of the audit offers for download, by its name there:
    matrices, figures, corrected, agreement, pairs, steps, people, triangle, causes,
    success_rates, tagged_errors, detectors or failure_modes.
    """
    known_only(request, Counting)
    study = audited_study(request, study_id)
    if name not in REPORTS:
        raise not_found("table")
    facts = AuditFacts(study, AuditQuery(**dict(counting)))
    try:
        check_split(facts, name)
        check_known_split(study, facts.query.split)
    except QueryError as error:
        raise invalid(("query.split", error.takes)) from error
    if REPORTS.entries[name].lists_runs:
        items = study.items.all()
        record_unblindings(user=request.user, items=items, reason="table of an audit")
    return table_out(REPORTS.make(name, facts))


class Beside(BaseModel):
    """Which evaluator of each study is held against its reference verdicts, and what pairs."""

    first: str = Field("", description="Number of the first study's evaluator.")
    second: str = Field("", description="Number of the second study's evaluator.")
    by: By | None = Field(None, description="Whether runs of a task pair by trial or by seed.")


@router.get(
    "/studies/{study_id}/beside/{other_id}/tables/{name}",
    response=TableOut,
    summary="Read a table of two studies side by side",
)
def read_beside_table(
    request: ApiRequest, study_id: RowId, other_id: RowId, name: str, chosen: Query[Beside]
) -> Any:
    """One of the tables that the page offers for download: beside, matrices, pairs, joint or tasks.

    Runs of the two studies pair by task; each is held against the verdict of its own study.
    """
    known_only(request, Beside)
    study, other = audited_study(request, study_id), audited_study(request, other_id)
    if name not in TWO_STUDIES or study == other:
        raise not_found("table")
    try:
        facts = two_studies(study, other, (chosen.first, chosen.second), chosen.by)
    except ValueError as error:
        raise invalid(("query.first", str(error))) from error
    if TWO_STUDIES.entries[name].lists_runs:
        record_reading_of_tasks(request.user, facts)
    return table_out(TWO_STUDIES.make(name, facts))


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
