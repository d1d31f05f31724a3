"""Which runs of a study count: one population, shared by all evaluators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Case, CharField, Count, F, Q, QuerySet, Value, When
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.models import ReferenceVerdict, Study, StudyItem
from runs.models import Task

SUCCESS = ReferenceVerdict.Verdict.SUCCESS
FAILURE = ReferenceVerdict.Verdict.FAILURE


INFEASIBLE = Task.objects.is_infeasible("run__task")
"""Of items of a study, those whose task is infeasible."""


class Group(StrEnum):
    """Runs that count, and those that are left out, by why."""

    COUNTED = "counted"
    INFEASIBLE = "infeasible"
    NOT_EXECUTABLE = "not_executable"
    UNSETTLED = "unsettled"


LEFT_OUT: Mapping[Group, Promise] = {
    Group.INFEASIBLE: _("with an infeasible task"),
    Group.NOT_EXECUTABLE: _("not executable"),
    Group.UNSETTLED: _("without a reference verdict yet"),
}
_GROUP = Case(
    When(INFEASIBLE, then=Value(Group.INFEASIBLE.value)),
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
    "site": F("run__task__site"),
    "template": TEMPLATE,
    "kind": F("run__task__evaluation_kind"),
}
"""What runs can be grouped by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """Runs of one task, or of all, by reference verdict."""

    successes: int = 0
    failures: int = 0

    @property
    def runs(self) -> int:
        return self.successes + self.failures


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """How many runs of a study there are in each group, and the counted ones by verdict."""

    groups: Mapping[Group, int]
    origins: Mapping[str, int]
    """Counted runs by how their reference verdict came about."""
    references: References

    @property
    def runs(self) -> int:
        """N: runs with a reference verdict of success or failure."""
        return self.references.runs


def counted_items(study: Study) -> QuerySet[StudyItem]:
    """The items that every figure is computed on."""
    items = StudyItem.objects.filter(study=study, verdict__verdict__in=[SUCCESS, FAILURE])
    return items.exclude(INFEASIBLE)


def items_in(study: Study, group: Group) -> QuerySet[StudyItem]:
    """The items of one group."""
    return StudyItem.objects.filter(study=study).annotate(group=_GROUP).filter(group=group)


def population_of(study: Study) -> Population:
    """The population, in one query."""
    rows = (
        StudyItem.objects.filter(study=study)
        .values_list(_GROUP, "verdict__origin", "verdict__verdict")
        .annotate(n=Count("pk"))
        .order_by()
    )
    groups: Counter[Group] = Counter()
    origins: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for group, origin, verdict, n in rows:
        groups[Group(group)] += n
        if group == Group.COUNTED:
            origins[origin] += n
            counted[verdict] += n
    references = References(successes=counted[SUCCESS], failures=counted[FAILURE])
    return Population(groups=groups, origins=origins, references=references)


def references_by_task(study: Study) -> dict[int, References]:
    """The counted runs of each task, in one query."""
    rows = (
        counted_items(study)
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
