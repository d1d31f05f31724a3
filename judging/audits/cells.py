"""The runs behind a cell: what every number of an audit opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypedDict, cast
from uuid import UUID

from django.db.models import (
    Case,
    CharField,
    Count,
    F,
    FilteredRelation,
    Q,
    QuerySet,
    Value,
    When,
)

from judging.audits.population import FAILURE, SUCCESS, counted_items
from judging.models import Evaluation, EvaluatorVersion, Study, StudyItem

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    class Said(TypedDict):
        """What `items_in_cells` adds to an item."""

        cell: str
        said_verdict: str | None
        said_reason: str | None
        said_score: float | None
        said_details: object

    JudgedItem = WithAnnotations[StudyItem, Said]

PASSED, FAILED = Evaluation.Verdict.PASSED, Evaluation.Verdict.FAILED


class Shown(StrEnum):
    """The cells as pages name them: the fifth is one, whatever the reference verdict."""

    TP = "tp"
    FN = "fn"
    TN = "tn"
    FP = "fp"
    NONE = "none"


_CELL = Case(
    When(verdict__verdict=SUCCESS, said__verdict=PASSED, then=Value(Shown.TP.value)),
    When(verdict__verdict=SUCCESS, said__verdict=FAILED, then=Value(Shown.FN.value)),
    When(verdict__verdict=FAILURE, said__verdict=FAILED, then=Value(Shown.TN.value)),
    When(verdict__verdict=FAILURE, said__verdict=PASSED, then=Value(Shown.FP.value)),
    default=Value(Shown.NONE.value),
    output_field=CharField(),
)


def read_cells(text: str) -> Sequence[Shown]:
    """Cells from an address: `fn`, or several joined by dashes (`tp-fn`).

    Raises:
        ValueError: one of them is no cell, or is named twice.
    """
    cells = [Shown(name) for name in text.split("-")]
    if len(set(cells)) < len(cells):
        raise ValueError(f"{text} names a cell twice")
    return cells


def items_in_cells(
    study: Study, evaluator: EvaluatorVersion, cells: Sequence[Shown]
) -> QuerySet[JudgedItem]:
    """Counted items in the cells, in the study's order, with what the evaluator said.

    Adds `cell`, `said_verdict`, `said_reason`, `said_score` and `said_details`.
    """
    said = Q(run__evaluations__evaluator=evaluator, run__evaluations__is_current=True)
    items = (
        counted_items(study)
        .annotate(said=FilteredRelation("run__evaluations", condition=said))
        .annotate(
            cell=_CELL,
            said_verdict=F("said__verdict"),
            said_reason=F("said__reason"),
            said_score=F("said__score"),
            said_details=F("said__details"),
        )
        .filter(cell__in=[cell.value for cell in cells])
        .select_related("run__task", "verdict")
        .defer("run__record", "run__evidence", "run__task__record")
        .order_by("position")
    )
    return cast("QuerySet[JudgedItem]", items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Where a run stands among the runs of its cell."""

    number: int
    total: int
    previous: UUID | None
    next: UUID | None


def neighbours(items: QuerySet[JudgedItem], run_id: UUID) -> Neighbours | None:
    """The runs before and after, in the study's order; None where the run is not among them."""
    here = items.filter(run=run_id).values_list("position", flat=True).first()
    if here is None:
        return None
    bare = items.order_by()
    counts = bare.aggregate(total=Count("pk"), before=Count("pk", filter=Q(position__lt=here)))
    before = items.filter(position__lt=here).order_by("-position")
    after = items.filter(position__gt=here)
    return Neighbours(
        number=counts["before"] + 1,
        total=counts["total"],
        previous=before.values_list("run", flat=True).first(),
        next=after.values_list("run", flat=True).first(),
    )
