"""The runs behind a cell: what every number of an audit opens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypedDict, cast
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

from judging.analysis.audits.population import FAILURE, SUCCESS, counted_items
from judging.models import Evaluation, EvaluatorVersion, Study, StudyItem
from judging.statistics.confusion import Cell

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    class Said(TypedDict):
        """What `items_in_cells` adds to an item."""

        cell: str
        said_verdict: str | None
        said_reason: str | None
        said_score: float | None
        said_details: object
        said_task: int | None

    JudgedItem = WithAnnotations[StudyItem, Said]

PASSED, FAILED = Evaluation.Verdict.PASSED, Evaluation.Verdict.FAILED


class Shown(StrEnum):
    """The cells as pages name them: the fifth is one, whatever the reference verdict."""

    TP = "tp"
    FN = "fn"
    TN = "tn"
    FP = "fp"
    NONE = "none"


def shown(cell: Cell) -> Shown:
    """The cell as pages name it."""
    return Shown(cell.value) if cell.has_verdict else Shown.NONE


def cell_by(said: str) -> Case:
    """The cell of an item in the database, by the verdict of an evaluation at that path."""
    success, failure = Q(verdict__verdict=SUCCESS), Q(verdict__verdict=FAILURE)
    passed, failed = Q(**{said: PASSED}), Q(**{said: FAILED})
    return Case(
        When(success & passed, then=Value(Shown.TP.value)),
        When(success & failed, then=Value(Shown.FN.value)),
        When(failure & failed, then=Value(Shown.TN.value)),
        When(failure & passed, then=Value(Shown.FP.value)),
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

    Adds `cell`, and of the evaluation `said_verdict`, `said_reason`, `said_score`, `said_details`
    and `said_task`, the version of the task that was judged.
    """
    said = Q(run__evaluations__evaluator=evaluator, run__evaluations__is_current=True)
    items = (
        counted_items(study)
        .annotate(said=FilteredRelation("run__evaluations", condition=said))
        .annotate(
            cell=cell_by("said__verdict"),
            said_verdict=F("said__verdict"),
            said_reason=F("said__reason"),
            said_score=F("said__score"),
            said_details=F("said__details"),
            said_task=F("said__task"),
        )
        .filter(cell__in=[cell.value for cell in cells])
        .select_related("run__task", "verdict")
        .defer("run__record", "run__evidence", "run__task__record")
        .order_by("position")
    )
    return cast("QuerySet[JudgedItem]", items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Where a run stands among those that are walked through."""

    number: int
    total: int
    previous: UUID | None
    next: UUID | None


def neighbours(items: QuerySet[Any], run_id: UUID, sort: str = "position") -> Neighbours | None:
    """The runs before and after in an order; None where the run is not among them.

    Args:
        items: rows with `run` and `position`, in that order.
        sort: the path that orders them, with `-` if it falls; ties go by position.
    """
    path = sort.removeprefix("-")
    here = items.filter(run=run_id).values_list(path, "position").first()
    if here is None:
        return None
    value, position = here
    less, more = ("gt", "lt") if sort.startswith("-") else ("lt", "gt")
    before = Q(**{f"{path}__{less}": value}) | Q(**{path: value, "position__lt": position})
    after = Q(**{f"{path}__{more}": value}) | Q(**{path: value, "position__gt": position})
    counts = items.order_by().aggregate(total=Count("pk"), before=Count("pk", filter=before))
    return Neighbours(
        number=counts["before"] + 1,
        total=counts["total"],
        previous=items.filter(before).reverse().values_list("run", flat=True).first(),
        next=items.filter(after).values_list("run", flat=True).first(),
    )
