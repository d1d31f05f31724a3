"""What is known of one run's success, as far as the caller may know it."""

from typing import Any
from uuid import UUID

from ninja import Router
from pydantic import BaseModel, Field

from judging.analysis.audits.judgements import judgements_of, opened_items
from judging.api.figures import filled
from judging.api.studies import EvaluationOut, evaluation_out
from judging.studies.access import record_unblindings
from runs.api.authentication import ApiRequest, Bearer
from runs.api.paging import known_only
from runs.api.runs import run_of
from runs.models import Scope

router = Router(tags=["runs"])
READS = Bearer(Scope.VERDICTS_READ)


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


@router.get(
    "/runs/{uuid:run_id}/judgements",
    response=JudgementsOut,
    auth=READS,
    operation_id="read_judgements",
    summary="Read what is judged of a run",
)
def read_judgements(request: ApiRequest, run_id: UUID) -> Any:
    """Reference verdicts and current evaluations. It is noted that you saw these."""
    known_only(request)
    found = judgements_of(run_of(request, run_id), request.user)
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
