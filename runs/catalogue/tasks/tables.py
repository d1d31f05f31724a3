"""The tasks table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import django_tables2 as tables
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django_tables2.data import TableQuerysetData

from runs.interface.tables import hidden
from runs.models import Run, Task, TaskRevision, User
from runs.models.task_queries import NATURAL_ORDER, TaskQuerySet
from runs.models.visibility import run_policy

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

    class Shown(TypedDict):
        """What `visible_to` adds to a task."""

        is_sealed: bool
        shown_kind: str | None
        shown_category: str | None
        shown_infeasible: bool | None

    ShownTask = WithAnnotations[Task, Shown]

CATEGORIES = dict(TaskRevision.Category.choices)


class TaskData(TableQuerysetData):
    """Tasks in the order in which people count them: 9 before 10.

    A page is found by its keys alone and read afterwards: sorting very many wide rows for fifty
    of them would cost seconds.
    """

    data: QuerySet[Any]

    def __init__(self, found: QuerySet[Any], every: QuerySet[Any]) -> None:
        super().__init__(found)
        self.every = every

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, slice):
            return super().__getitem__(key)
        keys = list(self.data.values_list("pk", flat=True)[key])
        rows = {row.pk: row for row in self.every.filter(pk__in=keys)}
        return [rows[pk] for pk in keys if pk in rows]

    def order_by(self, aliases: Any) -> None:
        super().order_by(aliases)
        self.data = self.data.order_by(*self.data.query.order_by, *NATURAL_ORDER, "pk")


class TaskTable(tables.Table):
    """One task a row; sorts and shows only `shown_*` where something may be hidden."""

    external_id = tables.Column(
        verbose_name=_("task"), attrs={"td": {"class": "fit"}}, orderable=False
    )
    goal = tables.Column(
        verbose_name=_("goal"), attrs={"td": {"class": "wide first truncate"}}, empty_values=()
    )
    task_set = tables.Column(
        verbose_name=_("task set"), order_by=("task_set__name", "task_set__version")
    )
    site = tables.Column(verbose_name=_("site"))
    kind = tables.Column(
        verbose_name=_("evaluation"), accessor="shown_kind", empty_values=(), order_by="shown_kind"
    )
    template = tables.Column(verbose_name=_("template"), attrs={"td": {"class": "num desk"}})
    patched = tables.Column(
        verbose_name=_("patched"),
        accessor="shown_category",
        empty_values=(),
        order_by="shown_category",
    )
    n_runs = tables.Column(
        verbose_name=_("runs"),
        attrs={"td": {"class": "num", "data-label": _("runs")}, "th": {"class": "num"}},
        orderable=False,
    )

    class Meta:
        attrs = {"class": "table list", "aria-label": _("Tasks")}
        default = ""

    is_partial = True
    """Its links swap the table by htmx."""
    leaves_pages_out = True
    """The page draws count and pages itself."""

    def __init__(
        self, tasks: TaskQuerySet[Task], shown: TaskQuerySet[Task], user: User, **options: Any
    ) -> None:
        """Draw those tasks out of `shown`, all of `visible_to(user)`: asked once a page."""
        rows = (
            shown.select_related("task_set")
            .defer("record", "spec", "reference")
            .annotate(n_runs=_visible_runs(user))
        )
        super().__init__(TaskData(tasks, rows), **options)

    def render_goal(self, record: Task) -> SafeString:
        return format_html(
            '<a class="row-link" href="{}" hx-disable>{}</a>',
            reverse("runs:task_detail", args=[record.pk]),
            record.goal or record.external_id,
        )

    def render_site(self, record: Task) -> str:
        return ", ".join(record.sites) or record.site

    def render_kind(self, record: ShownTask) -> SafeString | str:
        return hidden() if record.is_sealed else (record.shown_kind or "").replace("+", " + ")

    def render_patched(self, record: ShownTask) -> SafeString | str:
        if record.is_sealed:
            return hidden()
        if record.shown_infeasible:
            return format_html('<span class="badge infeasible">{}</span>', _("infeasible"))
        return str(CATEGORIES.get(record.shown_category or "", ""))


def _visible_runs(user: User) -> Coalesce:
    """How many runs of a task the person may open, without attempts that were replaced."""
    runs = Run.objects.filter(run_policy().visible(user), task=OuterRef("pk"), superseded=False)
    counted = runs.order_by().values("task").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted), 0)
