"""Which runs of a study count, the same for all evaluators, and in which cell of one each is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypedDict, cast
from uuid import UUID

from django.db import models
from django.db.models import Case, CharField, Count, F, FilteredRelation, Q, QuerySet, Value, When
from django.utils.translation import gettext_lazy as _

from judging.analysis.counting import tally
from judging.models import Evaluation, EvaluatorVersion, ReferenceVerdict, Study, StudyItem
from judging.statistics.confusion import Cell
from runs.models import Task

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
else:
    JudgedItem = StudyItem

SUCCESS = ReferenceVerdict.Verdict.SUCCESS
FAILURE = ReferenceVerdict.Verdict.FAILURE


INFEASIBLE = Task.objects.is_infeasible("run__task")
"""Of items of a study, those whose task is infeasible."""
LOOKED_UP = 2_000
"""Marked tasks that are looked up; of more, the database asks of each run."""


def infeasible_items() -> Q:
    """`INFEASIBLE` as it is now, as a list of the few tasks: for several questions in a row."""
    tasks = Task.objects.infeasible_ids(LOOKED_UP)
    if tasks is None:
        return INFEASIBLE
    return Q(run__task__among=tasks) if tasks else Q(pk__in=())


class Group(models.TextChoices):
    """Runs that count, and those that are left out, by why."""

    COUNTED = "counted", ""
    INFEASIBLE = "infeasible", _("with an infeasible task")
    NOT_EXECUTABLE = "not_executable", _("not executable")
    UNSETTLED = "unsettled", _("without a reference verdict yet")


LEFT_OUT: Mapping[Group, Any] = {each: each.label for each in Group if each is not Group.COUNTED}


def _group(infeasible: Q) -> Case:
    return Case(
        When(infeasible, then=Value(Group.INFEASIBLE.value)),
        When(
            verdict__verdict=ReferenceVerdict.Verdict.NOT_EXECUTABLE,
            then=Value(Group.NOT_EXECUTABLE.value),
        ),
        When(verdict__isnull=True, then=Value(Group.UNSETTLED.value)),
        default=Value(Group.COUNTED.value),
        output_field=CharField(),
    )


TEMPLATE = Case(
    When(run__task__template="", then=F("run__task__intent_template")),
    default=F("run__task__template"),
    output_field=CharField(),
)
"""A task's template by the benchmark's id, or by its text where it has none."""


GROUPINGS = {
    "split": F("run__task__split"),
    "site": F("run__task__site"),
    "template": TEMPLATE,
    "kind": F("run__task__evaluation_kind"),
}
GROUP_NAMES = {
    "split": _("split"),
    "site": _("site"),
    "template": _("template"),
    "kind": _("kind of evaluation"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """Runs of one task, or of all, by reference verdict."""

    successes: int = 0
    failures: int = 0

    @property
    def runs(self) -> int:
        return self.successes + self.failures


class Population:
    """How many runs of a study there are in each group, and the counted ones by verdict."""

    def __init__(self, study: Study, split: str = "", infeasible: Q = INFEASIBLE) -> None:
        items = items_of(study, split).annotate(group=_group(infeasible))
        self.groups: Counter[Group] = Counter()
        self.origins: Counter[str] = Counter()
        """Counted runs by how their reference verdict came about."""
        counted: Counter[str] = Counter()
        columns = ("group", "verdict__origin", "verdict__verdict")
        for (group, origin, verdict), n in tally(items, *columns).items():
            self.groups[Group(group)] += n
            if group == Group.COUNTED:
                self.origins[origin] += n
                counted[verdict] += n
        self.references = References(successes=counted[SUCCESS], failures=counted[FAILURE])

    @property
    def runs(self) -> int:
        """N: runs with a reference verdict of success or failure."""
        return self.references.runs

    @property
    def left_out(self) -> list[tuple[Group, Any, int]]:
        """The groups that no figure counts, in words, with how many runs they have."""
        return [(each, words, n) for each, words in LEFT_OUT.items() if (n := self.groups[each])]

    @property
    def settled_by(self) -> list[tuple[Any, int]]:
        """How the reference verdicts of the counted runs came about, in words."""
        words = dict(ReferenceVerdict.Origin.choices)
        return [(words[key], n) for key, n in sorted(self.origins.items()) if n]


def items_of(study: Study, split: str) -> QuerySet[StudyItem]:
    """The items of a study: of all its tasks, or of those in that split."""
    items = StudyItem.objects.filter(study=study)
    if "\0" in split:  # PostgreSQL refuses a question with a NUL in it, which no split has.
        return items.none()
    return items.filter(run__task__split=split) if split else items


def splits_of(study: Study) -> list[str]:
    """The splits that the study's tasks are of. Its runs are asked only where any task has one."""
    tasks = Task.objects.filter(split__gt="").order_by()
    if not tasks.exists():
        return []
    of_study = StudyItem.objects.filter(study=study).values("run__task")
    found = tasks.filter(pk__in=of_study).values_list("split", flat=True)
    return sorted(found.distinct())


def unknown_split(study: Study, split: str) -> str:
    """The split if no task of the study is of it; else nothing."""
    return split if split and split not in splits_of(study) else ""


def counted_items(study: Study, split: str = "", infeasible: Q = INFEASIBLE) -> QuerySet[StudyItem]:
    """The items that every figure is computed on."""
    items = items_of(study, split).filter(verdict__verdict__in=[SUCCESS, FAILURE])
    return items.exclude(infeasible)


def items_in(study: Study, group: Group) -> QuerySet[StudyItem]:
    return (
        StudyItem.objects.filter(study=study).annotate(group=_group(INFEASIBLE)).filter(group=group)
    )


def listed_items(keys: Collection[int]) -> list[StudyItem]:
    """These items in the study's order, as a list shows their runs."""
    items = StudyItem.objects.filter(pk__among=keys).order_by("position")
    return list(items.select_related("run__task").defer("run__record", "run__evidence"))


def references_by_task(study: Study, split: str) -> dict[int, References]:
    """The counted runs of each task, in one query."""
    rows = (
        counted_items(study, split)
        .values_list("run__task")
        .annotate(
            successes=Count("pk", filter=Q(verdict__verdict=SUCCESS)),
            failures=Count("pk", filter=Q(verdict__verdict=FAILURE)),
        )
        .order_by()
    )
    return {
        task: References(successes=successes, failures=failures)
        for task, successes, failures in rows
    }


PASSED, FAILED = Evaluation.Verdict.PASSED.value, Evaluation.Verdict.FAILED.value


class Shown(StrEnum):
    """The cells as pages name them: the fifth is one, whatever the reference verdict."""

    TP = "tp"
    FN = "fn"
    TN = "tn"
    FP = "fp"
    NONE = "none"


def shown(cell: Cell) -> Shown:
    return Shown(cell.value) if cell.has_verdict else Shown.NONE


def cell_by(said: str) -> Case:
    """The cell of a counted item in the database, by the verdict of an evaluation at that path."""

    def by_reference(success: Shown, failure: Shown) -> Case:
        is_success = When(verdict__verdict=SUCCESS, then=Value(success.value))
        return Case(is_success, default=Value(failure.value), output_field=CharField())

    return Case(
        When(**{said: PASSED}, then=by_reference(Shown.TP, Shown.FP)),
        When(**{said: FAILED}, then=by_reference(Shown.FN, Shown.TN)),
        default=Value(Shown.NONE.value),
        output_field=CharField(),
    )


def read_cells(text: str) -> Sequence[Shown]:
    """Cells from an address: `fn`, or several joined by dashes (`tp-fn`).

    Raises ValueError where one of them is no cell, or is named twice.
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
        counted_items(study, infeasible=infeasible_items())
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


def run_after(rows: QuerySet[Any], position: int) -> UUID | None:
    """The run of the next of these rows, from the first again after the last."""
    others = rows.exclude(position=position).order_by("position").values_list("run", flat=True)
    return others.filter(position__gt=position).first() or others.first()


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
