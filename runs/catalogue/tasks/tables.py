"""The tasks table."""

from typing import Any

import django_tables2 as tables
from django.db.models import Count, F, OrderBy, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Left, Length
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django_tables2.data import TableQuerysetData

from runs.interface.listing import listed
from runs.interface.lists import ListPage, columns_of, declared, row_address
from runs.interface.paging import hidden
from runs.models import Run, Task, TaskRevision, User
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
