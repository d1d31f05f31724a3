"""Evaluators held against the reference verdicts of a study."""

from typing import Any

from ninja import Router
from pydantic import BaseModel, Field

from judging.analysis.audits.figures import MEASURES, Measured
from judging.analysis.audits.matrices import Audit, EvaluatorAudit
from judging.analysis.audits.population import Group
from judging.api.figures import FigureOut, figure_out
from judging.api.studies import READS, EvaluatorOut, audited_study, evaluator_out
from runs.api.authentication import ApiRequest
from runs.api.bodies import filled
from runs.api.paging import RowId, known_only

router = Router(tags=["studies"], auth=READS)


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
