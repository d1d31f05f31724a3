"""Figures and tables as the API gives them, and those of studies: matrices and audits."""

from typing import Any

from ninja import Query, Router
from pydantic import BaseModel, Field

from judging.analysis.audits.comparing.studies import two_studies
from judging.analysis.audits.comparing.study_reports import TWO_STUDIES
from judging.analysis.audits.comparing.views import record_reading_of_tasks
from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.figures import MEASURES, Measured
from judging.analysis.audits.matrices import Audit, EvaluatorAudit
from judging.analysis.audits.population import Group
from judging.analysis.audits.query import AuditQuery, NoVerdict, Pairing, Unsure
from judging.analysis.audits.reports import AUDIT as REPORTS
from judging.analysis.audits.reports import check_known_split, check_split
from judging.analysis.experiments.pairs import By
from judging.analysis.reports.report import Report
from judging.api.studies import READS, EvaluatorOut, audited_study, evaluator_out
from judging.statistics.figures import LEVEL, Figure, Interval, Undefined
from judging.studies.access import record_unblindings
from runs.api.authentication import ApiRequest
from runs.api.bodies import filled
from runs.api.paging import RowId, known_only
from runs.api.problems import invalid, not_found
from runs.models.parsing import QueryError


class IntervalOut(BaseModel):
    """Where a figure may lie."""

    low: float
    high: float
    level: float = Field(description="0.95 for 95 %.")
    method: str


class FigureOut(BaseModel):
    """A figure. Where there is none, `reason` says why."""

    value: float | None
    reason: str | None
    interval: IntervalOut | None


class ColumnOut(BaseModel):
    """A column of a table."""

    key: str
    name: str


class TableOut(BaseModel):
    """A table of a page, as it is downloaded there."""

    name: str
    title: str
    notes: list[str]
    columns: list[ColumnOut]
    rows: list[dict[str, Any]] = Field(description="Values by the key of their column.")


def figure_out(value: Figure | None, interval: Interval | Undefined | None = None) -> FigureOut:
    """The figure with its interval, if there are any."""
    return FigureOut(
        value=None if isinstance(value, Undefined) else value,
        reason=str(value.reason.value) if isinstance(value, Undefined) else None,
        interval=(
            filled(IntervalOut, interval, level=LEVEL) if isinstance(interval, Interval) else None
        ),
    )


def table_out(table: Report) -> TableOut:
    """The table with its rows as objects."""
    keys = [column.key for column in table.header]
    return TableOut(
        name=table.name,
        title=table.title,
        notes=list(table.notes),
        columns=[ColumnOut(key=column.key, name=str(column.name)) for column in table.header],
        rows=[dict(zip(keys, row, strict=True)) for row in table.values],
    )


router = Router(tags=["studies"], auth=READS)


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


class Definition(BaseModel):
    """What a figure is."""

    name: str
    formula: str
    definition: str


class PopulationOut(BaseModel):
    """Which runs count: the same for all evaluators."""

    counted: int = Field(description="N: runs with a reference verdict of success or failure.")
    successes: int
    failures: int
    left_out: dict[str, int] = Field(description="Runs that no figure counts, by why.")
    origins: dict[str, int] = Field(description="Counted runs by how their verdict came about.")


class Cells(BaseModel):
    """Counted runs by reference and evaluator; success is positive."""

    tp: int
    fn: int
    tn: int
    fp: int
    no_verdict: int = Field(description="The fifth cell: the evaluator gave no verdict.")
    no_verdict_on_success: int
    no_verdict_on_failure: int


class Reason(BaseModel):
    """Why there is no verdict, and on how many runs."""

    reason: str
    runs: int


class MatrixOut(BaseModel):
    """One evaluator."""

    evaluator: EvaluatorOut
    cells: Cells
    no_verdict: list[Reason]
    figures: dict[str, FigureOut] = Field(description="By the keys of `definitions`.")


class MatricesOut(BaseModel):
    """All evaluators of a study on one population."""

    study: int
    positive: str
    population: PopulationOut
    definitions: dict[str, Definition]
    evaluators: list[MatrixOut]


@router.get(
    "/studies/{study_id}/matrices", response=MatricesOut, summary="Read the matrices of a study"
)
def read_matrices(request: ApiRequest, study_id: RowId) -> Any:
    """TP, FN, TN, FP and runs without a verdict of every evaluator, with figures and Wilson's
    intervals: what the page of the audit shows.
    """
    known_only(request)
    return _matrices(Audit(audited_study(request, study_id)))


def _matrices(audit: Audit) -> MatricesOut:
    population = audit.population
    return MatricesOut(
        study=audit.study.pk,
        positive="success",
        population=PopulationOut(
            counted=population.runs,
            successes=population.references.successes,
            failures=population.references.failures,
            left_out={
                group.value: n
                for group, n in population.groups.items()
                if group is not Group.COUNTED
            },
            origins=dict(population.origins),
        ),
        definitions={
            each.key: Definition(
                name=str(each.name), formula=each.formula, definition=str(each.definition)
            )
            for each in MEASURES
        },
        evaluators=[_matrix(each) for each in audit.evaluators],
    )


def _matrix(audit: EvaluatorAudit) -> MatrixOut:
    measured = [Measured(audit, each) for each in MEASURES]
    return MatrixOut(
        evaluator=evaluator_out(audit.evaluator),
        cells=filled(Cells, audit.matrix),
        no_verdict=[Reason(reason=reason, runs=n) for reason, n in audit.reasons],
        figures={each.measure.key: figure_out(each.value, each.interval) for each in measured},
    )
