"""The tasks table and its filters, whose whole state is the address."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import django_tables2 as tables
from django.db.models import Count, F, Max, OrderBy, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Left, Length
from django.http import QueryDict
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django_tables2.data import TableQuerysetData

from runs.interface.filters import (
    AddressFilter,
    Choices,
    NumbersFilter,
    SearchFilter,
    WordsFilter,
    distinct_values,
    distinct_with,
)
from runs.interface.lists import ListPage, columns_of, declared, row_address
from runs.interface.paging import counts_by_choice, hidden
from runs.interface.sentences import listed
from runs.models import Run, Task, TaskRevision, TaskSet, User
from runs.models.runs.queries import TITLE_CHARS
from runs.models.tasks import TaskQuerySet
from runs.models.visibility import run_policy

CATEGORIES = dict(TaskRevision.Category.choices)


class TaskData(TableQuerysetData):
    """Tasks in their order.

    A page is found by its keys alone and read afterwards: sorting very many wide rows for fifty
    of them would cost seconds.
    """

    data: QuerySet[Any]

    def __init__(self, found: QuerySet[Any], every: QuerySet[Any]) -> None:
        super().__init__(found)
        self.every = every

    def order_by(self, aliases: Any) -> None:
        """By id as people count, through all sets: the one column that sorts."""
        if aliases:
            falls = str(aliases[0]).startswith("-")
            order = (Length("external_id"), F("external_id"), F("pk"))
            self.data = self.data.order_by(*(OrderBy(by, descending=falls) for by in order))

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, slice):
            return super().__getitem__(key)
        keys = list(self.data.values_list("pk", flat=True)[key])
        rows = {row.pk: row for row in self.every.filter(pk__in=keys)}
        return [rows[pk] for pk in keys if pk in rows]


class TaskTable(tables.Table):
    """One task a row; shows only `shown_*` where something may be hidden."""

    external_id = tables.Column(
        verbose_name=_("task"), attrs={"td": {"class": "fit"}}, orderable=True
    )
    goal = tables.Column(
        verbose_name=_("goal"),
        attrs={"td": {"class": "wide first truncate"}},
        accessor="goal_start",
        empty_values=(),
    )
    task_set = tables.Column(verbose_name=_("task set"))
    site = tables.Column(verbose_name=_("site"))
    kind = tables.Column(verbose_name=_("evaluation"), accessor="shown_kind", empty_values=())
    template = tables.Column(verbose_name=_("template"), attrs={"td": {"class": "num desk"}})
    patched = tables.Column(verbose_name=_("patched"), accessor="shown_category", empty_values=())
    n_runs = tables.Column(
        verbose_name=_("runs"),
        attrs={"td": {"class": "num", "data-label": _("runs")}, "th": {"class": "num"}},
    )

    class Meta:
        orderable = False
        attrs = {"class": "table list", "aria-label": _("tasks")}
        row_attrs = {"data-preview": lambda record: row_address("runs:task_preview", record.pk)}
        default = ""

    is_partial = True
    """Its links swap the table by htmx."""
    leaves_pages_out = True
    """The page draws count and pages itself."""

    def __init__(
        self, tasks: TaskQuerySet, shown: TaskQuerySet, user: User, **options: Any
    ) -> None:
        """Draw those tasks out of `shown`, all of `visible_to(user)`: asked once a page."""
        rows = (
            shown.select_related("task_set")
            .defer("record", "spec", "reference", "goal")
            .annotate(n_runs=_visible_runs(user), goal_start=Left("goal", TITLE_CHARS))
        )
        super().__init__(TaskData(tasks, rows), exclude=TASKS.left_out(user), **options)

    def render_goal(self, record: Any) -> SafeString:
        address = row_address("runs:task_detail", record.pk)
        words = record.goal_start or gettext("differs from run to run")
        return format_html('<a class="row-link" href="{}" hx-disable>{}</a>', address, words)

    def render_site(self, record: Task) -> str:
        return listed(record.sites) or record.site

    def render_kind(self, record: Task) -> SafeString | str:
        return hidden() if record.is_sealed else (record.shown_kind or "").replace("+", " + ")

    def render_patched(self, record: Task) -> SafeString | str:
        if record.is_sealed:
            return hidden()
        if record.shown_infeasible:
            return format_html('<span class="badge infeasible">{}</span>', _("infeasible"))
        return str(CATEGORIES.get(record.shown_category or "", ""))


TASKS = declared(ListPage("task", "runs:task_list", columns_of(TaskTable, "goal")))


def _visible_runs(user: User) -> Coalesce:
    """How many runs of a task the person may open, without attempts that were replaced."""
    runs = Run.objects.filter(run_policy().visible(user), task=OuterRef("pk"), superseded=False)
    counted = runs.order_by().values("task").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted), 0)


MAX_OPTIONS = 300
LOOKED_AT = 10_000
"""Tasks, the newest, among which sites are looked for that tasks go to only later on."""
TEMPLATE_CHARS = 70
YES, NO = "yes", "no"
COUNTED = 1_000
"""Counts are of so many tasks, the first that match; where more do, each is "at least"."""
COUNTED_BY = {
    "task_set": ("task_set",),
    "site": ("site", "sites"),
    "kind": ("shown_kind",),
    "template": ("template",),
    "patched": ("is_sealed", "shown_category"),
    "infeasible": ("shown_infeasible",),
}
"""What a filter compares, as it is shown: what is hidden from the person is counted nowhere."""


class TaskFilter(AddressFilter):
    """Filters over tasks that went through `visible_to(user)`; reads only what is shown."""

    q = SearchFilter(method="filter_text")
    task_set = NumbersFilter(field_name="task_set", label=_("task set"))
    site = WordsFilter(method="filter_site", label=_("site"))
    kind = WordsFilter(method="filter_kind", label=_("evaluation"))
    template = WordsFilter(field_name="template", label=_("template"))
    patched = WordsFilter(method="filter_patched", label=_("patched"))
    infeasible = WordsFilter(method="filter_infeasible", label=_("infeasible"))

    own_words = frozenset({"site", "kind"})

    class Meta:
        model = Task
        fields: tuple[str, ...] = ()

    def __init__(
        self, data: QueryDict | Mapping[str, Any] | None, *, queryset: TaskQuerySet
    ) -> None:
        self.shown: Any = queryset
        super().__init__(data or QueryDict(), queryset)

    def filter_text(self, queryset: QuerySet[Task], name: str, value: str) -> QuerySet[Task]:
        """A number is a whole id; part of another one says nothing."""
        its_id = Q(external_id=value) if value.isdigit() else Q(external_id__icontains=value)
        return queryset.filter(Q(goal__icontains=value) | its_id)

    def filter_site(self, queryset: QuerySet[Task], name: str, value: list[str]) -> QuerySet[Task]:
        """Tasks that go to any of the sites, first or later on."""
        if not value:
            return queryset
        wanted = Q(site__in=value)
        for sites in self._sites_together:
            if not {*sites}.isdisjoint(value):
                wanted |= Q(sites=sites)
        return queryset.filter(wanted)

    def filter_kind(self, queryset: Any, name: str, value: list[str]) -> Any:
        return queryset.filter(is_sealed=False, evaluation_kind__in=value) if value else queryset

    def filter_patched(self, queryset: Any, name: str, value: list[str]) -> Any:
        if not value:
            return queryset
        wanted = Q(revision__category__in=value)
        if YES in value:
            wanted |= Q(revision__isnull=False)
        if NO in value:
            wanted |= Q(revision__isnull=True)
        return queryset.filter(wanted, is_sealed=False)

    def filter_infeasible(self, queryset: Any, name: str, value: list[str]) -> Any:
        truths = [truth for word, truth in ((YES, True), (NO, False)) if word in value]
        return queryset.filter(shown_infeasible__in=truths) if value else queryset

    @cached_property
    def choice_lists(self) -> dict[str, Choices]:
        patched = [(YES, _("yes")), *TaskRevision.Category.choices, (NO, _("no"))]
        return {
            "task_set": _task_sets,
            "site": self._sites,
            "kind": self._kinds,
            "template": _templates,
            "patched": lambda: patched,
            "infeasible": lambda: [(YES, _("yes")), (NO, _("no"))],
        }

    def counts(self, name: str) -> Callable[[str], str]:
        """Tells how many of the first tasks that match have a value of a filter, as it is shown."""
        keys = list(self.qs.in_order().values_list("pk", flat=True)[: COUNTED + 1])
        tasks = self.shown.order_by().filter(pk__in=keys[:COUNTED])
        rows = tasks.values_list(*COUNTED_BY[name], named=True)
        found = Counter(choice for row in rows for choice in _choices(name, row))
        return counts_by_choice(found, is_more=len(keys) > COUNTED)

    def _sites(self) -> list[tuple[str, str]]:
        sites = {*distinct_values(Task, "site", MAX_OPTIONS)}.union(*self._sites_together)
        return [(site, site) for site in sorted(sites)]

    def _kinds(self) -> list[tuple[str, str]]:
        unsealed = self.shown.order_by().filter(is_sealed=False)
        return [
            (kind, kind)
            for kind in distinct_values(Task, "evaluation_kind", MAX_OPTIONS)
            if unsealed.filter(evaluation_kind=kind).exists()
        ]

    @cached_property
    def _sites_together(self) -> list[list[str]]:
        """The sites of tasks that go to several: of the newest, since no index tells them apart."""
        newest = Task.objects.aggregate(last=Max("pk"))["last"] or 0
        tasks = Task.objects.filter(pk__gt=newest - LOOKED_AT).order_by()
        lists = tasks.values_list("sites", flat=True).distinct()
        return [sites for sites in lists[:MAX_OPTIONS] if len(sites) > 1]


def _task_sets() -> list[tuple[str, str]]:
    return [(str(row.pk), str(row)) for row in TaskSet.objects.order_by("name", "version")]


def _templates() -> list[tuple[str, str]]:
    """Templates by number, with the beginning of their words."""
    words = distinct_with(Task, "template", "intent_template", MAX_OPTIONS)
    return [
        (name, f"{name}  {Truncator(words[name]).chars(TEMPLATE_CHARS)}".strip())
        for name in sorted(words, key=lambda name: (len(name), name))
    ]


def _choices(name: str, row: Any) -> set[str]:
    """The choices of the filter that find a task."""
    if name == "site":
        return {row.site, *row.sites} - {""}
    if name == "patched":
        known = NO if row.shown_category is None else YES
        return set() if row.is_sealed else {known, row.shown_category or NO}
    [value] = row
    if name == "infeasible":
        return set() if value is None else {YES if value else NO}
    return {str(value)} if value else set()
