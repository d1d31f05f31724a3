"""Which runs of a study count: one population, shared by all evaluators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Case, CharField, Count, Q, QuerySet, Value, When

from judging.models import ReferenceVerdict, Study, StudyItem

SUCCESS = ReferenceVerdict.Verdict.SUCCESS
FAILURE = ReferenceVerdict.Verdict.FAILURE


class Group(StrEnum):
    """Runs that count, and those that are left out, by why."""

    COUNTED = "counted"
    INFEASIBLE = "infeasible"
    NOT_EXECUTABLE = "not_executable"
    UNSETTLED = "unsettled"


_INFEASIBLE = ~Q(run__task__infeasible_reason="")
_GROUP = Case(
    When(_INFEASIBLE, then=Value(Group.INFEASIBLE.value)),
    When(
        verdict__verdict=ReferenceVerdict.Verdict.NOT_EXECUTABLE,
        then=Value(Group.NOT_EXECUTABLE.value),
    ),
    When(verdict__isnull=True, then=Value(Group.UNSETTLED.value)),
    default=Value(Group.COUNTED.value),
    output_field=CharField(),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """Runs of one task, or of all, by reference verdict."""

    successes: int = 0
    failures: int = 0

    @property
    def runs(self) -> int:
        return self.successes + self.failures

    def __add__(self, other: References) -> References:
        return References(
            successes=self.successes + other.successes, failures=self.failures + other.failures
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """How many runs of a study there are in each group, and the counted ones by task."""

    groups: Mapping[Group, int]
    origins: Mapping[str, int]
    """Counted runs by how their reference verdict came about."""
    by_task: Mapping[int, References]

    @property
    def references(self) -> References:
        return sum(self.by_task.values(), References())

    @property
    def runs(self) -> int:
        """N: runs with a reference verdict of success or failure."""
        return self.groups.get(Group.COUNTED, 0)

    @property
    def shares_tasks(self) -> bool:
        """Whether some task has several runs, so that runs are not independent."""
        return len(self.by_task) < self.runs


def counted_items(study: Study) -> QuerySet[StudyItem]:
    """The items that every figure is computed on."""
    return StudyItem.objects.filter(
        study=study, verdict__verdict__in=[SUCCESS, FAILURE], run__task__infeasible_reason=""
    )


def items_in(study: Study, group: Group) -> QuerySet[StudyItem]:
    """The items of one group."""
    return StudyItem.objects.filter(study=study).annotate(group=_GROUP).filter(group=group)


def population_of(study: Study) -> Population:
    """The population, in one query."""
    rows = (
        StudyItem.objects.filter(study=study)
        .values_list(_GROUP, "verdict__origin", "verdict__verdict", "run__task")
        .annotate(n=Count("pk"))
        .order_by()
    )
    return _population(rows)


def _population(rows: Iterable[tuple[str, str, str, int, int]]) -> Population:
    groups: Counter[Group] = Counter()
    origins: Counter[str] = Counter()
    by_task: dict[int, References] = {}
    for group, origin, verdict, task, n in rows:
        groups[Group(group)] += n
        if group == Group.COUNTED:
            origins[origin] += n
            found = References(**{"successes" if verdict == SUCCESS else "failures": n})
            by_task[task] = by_task.get(task, References()) + found
    return Population(groups=groups, origins=origins, by_task=by_task)
