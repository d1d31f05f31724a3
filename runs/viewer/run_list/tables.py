"""The runs table: its columns and its orders.

What has many values is sorted by; what has few (an agent, an outcome) is filtered by.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from uuid import UUID

import django_tables2 as tables
from django.http import QueryDict
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django_tables2.data import TableQuerysetData
from django_tables2.rows import BoundRows

from runs.interface.keyset import ADDRESS_NAMES, read_cursor
from runs.interface.lists import ListPage, declared, row_address
from runs.interface.paging import hidden
from runs.interface.words import duration, moment, money, stub_mark, verdict
from runs.models import Event, Run, RunStatus
from runs.models.extension import extension
from runs.models.steps import last_screenshot
from runs.models.visibility import visibility_of
from runs.viewer.run_list.filters import ANOMALIES, RunFilter
from runs.viewer.run_list.pages import NEWEST_FIRST, page_of

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


DEFAULT_COLUMNS = (
    "picture",
    "site",
    "agent",
    "model",
    "outcome",
    "reference",
    "anomalies",
    "n_steps",
    "seconds",
    "created",
)
PICTURE = '<img src="{}" alt="" width="64" height="40" loading="lazy" decoding="async">'
READ = ("pk", "superseded", "is_stub", "is_blind", "is_anonymous", "shown_anomaly")
"""What a row reads of a run beside its columns."""
ANY = UUID(int=0)
"""Stands for a run's key where the address of every row is made."""


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A page of a table that was found by its keys."""

    object_list: Any
    number: int | None
    previous_query: str
    next_query: str

    @property
    def has_other_pages(self) -> bool:
        return bool(self.previous_query or self.next_query)


class RunData(TableQuerysetData):
    """Runs that `turn_to` puts in order, and finds a page of."""

    def order_by(self, aliases: Any) -> None:
        """Nothing: which order was asked for, the table knows."""


def _filtered_column(name: StrPromise, accessor: str) -> tables.Column:
    """A column of few values: it is filtered by, not sorted by."""
    return tables.Column(verbose_name=name, accessor=accessor, empty_values=(), orderable=False)


class RunTable(tables.Table):
    """One run a row; sorts and shows only `shown_*` where something may be hidden."""

    selected = tables.CheckBoxColumn(
        accessor="pk",
        attrs={
            "th__input": {"aria-label": _("Select all on this page"), "data-selects-all": ""},
            "td": {"class": "fit desk"},
            "th": {"class": "fit"},
        },
        orderable=False,
    )
    picture = tables.Column(
        verbose_name=_("last screenshot"),
        accessor="last_picture",
        attrs={"td": {"class": "picture desk"}, "th": {"class": "fit"}},
        orderable=False,
    )
    goal = tables.Column(
        verbose_name=_("goal"),
        attrs={"td": {"class": "wide first truncate"}},
        accessor="title",
        empty_values=(),
    )
    task_set = _filtered_column(_("task set"), "task__task_set__name")
    site = _filtered_column(_("site"), "task__site")
    experiment = _filtered_column(_("experiment"), "shown_experiment")
    agent = _filtered_column(_("agent"), "shown_agent")
    model = _filtered_column(_("model"), "shown_model")
    outcome = _filtered_column(_("outcome"), "shown_outcome")
    anomalies = _filtered_column(_("anomalies"), "shown_anomaly")
    status = _filtered_column(_("state"), "shown_status")
    n_steps = tables.Column(
        verbose_name=_("steps"),
        attrs={"td": {"class": "num", "data-label": _("steps")}, "th": {"class": "num"}},
    )
    seconds = tables.Column(
        verbose_name=_("time"), attrs={"td": {"class": "num nowrap"}, "th": {"class": "num"}}
    )
    cost = tables.Column(
        verbose_name=_("cost"),
        accessor="shown_cost",
        attrs={"td": {"class": "num"}, "th": {"class": "num"}},
    )
    created = tables.Column(
        verbose_name=_("added"), accessor="created_at", attrs={"td": {"class": "nowrap desk"}}
    )

    class Meta:
        attrs = {"class": "table list", "aria-label": _("Runs")}
        row_attrs = {
            "data-run": lambda record: str(record.pk),
            "data-preview": lambda record: row_address("runs:run_preview", record.pk),
            "class": lambda record: "superseded" if record.superseded else None,
        }
        order_by = NEWEST_FIRST

    is_partial = True
    """Its links swap the table by htmx."""
    leaves_pages_out = True
    """The page draws count and pages itself."""

    def __init__(self, found: RunFilter, **options: Any) -> None:
        self.found, user = found, found.visibility.user
        self.marks: dict[UUID, list[str]] = {}
        extra = extension().run_list.columns()
        chosen, hidden = RUNS.chosen_columns(user), RUNS.left_out(user)
        if not any(user.has_perm(f"runs.{verb}_run") for verb in ("rerun", "export")):
            hidden.append("selected")
        super().__init__(
            RunData(found.qs),
            default="",
            extra_columns=extra,
            exclude=hidden,
            sequence=["selected", *dict.fromkeys(["picture", "goal", *chosen]), "..."],
            **options,
        )

    def turn_to(self, query: QueryDict) -> None:
        """Read the page that the address names, and how many rows there are on all."""
        order = str(self.order_by[0]) if self.order_by else NEWEST_FIRST
        is_filtered = not query.keys() <= {self.order_by_field, *ADDRESS_NAMES}
        cursor = read_cursor(query)
        found, self.count = page_of(self.found, order, cursor, is_filtered=is_filtered)
        by_key = {row.pk: row for row in self._rows_of(found.keys)}
        shown = [by_key[key] for key in found.keys if key in by_key]
        self.marks = anomalies_of([run.pk for run in shown if run.shown_anomaly])
        self.page = ShownPage(
            BoundRows(shown, table=self),
            found.number,
            previous_query=found.query(query, back=True),
            next_query=found.query(query, back=False),
        )

    def _rows_of(self, keys: Sequence[UUID]) -> list[Any]:
        """The runs of a page, in no order, as flat rows of what the columns read."""
        named, shown = shown_rows(self.found, keys).titled(), self.columns.names()
        if "picture" in shown:
            named = named.annotate(last_picture=last_screenshot(is_small=True))
        columns = (str(column.accessor) for column in self.columns)
        more = ("task__task_set__version",) if "task_set" in shown else ()
        return list(named.values_list(*dict.fromkeys((*READ, *columns, *more)), named=True))

    @cached_property
    def _box(self) -> SafeString:
        """What every box of a row has but its value."""
        return format_html(
            '<input type="checkbox" name="run" form="selection" aria-label="{}"',
            _("Select the row"),
        )

    def render_selected(self, value: UUID) -> SafeString:
        return format_html('{} value="{}">', self._box, value)

    def render_goal(self, record: Any) -> SafeString:
        address = row_address("runs:run_detail", record.pk)
        link = format_html('<a class="row-link" href="{}" hx-disable>{}</a>', address, record.title)
        return link + stub_mark(record) if record.is_stub else link

    @cached_property
    def _any_picture(self) -> str:
        return reverse("runs:run_blob", args=[ANY, "picture"])

    def render_picture(self, value: str, record: Any) -> SafeString:
        address = self._any_picture.replace(str(ANY), str(record.pk)).replace("picture", value)
        return format_html(PICTURE, address)

    def render_task_set(self, record: Any) -> str:
        return f"{record.task__task_set__name} {record.task__task_set__version}"

    def render_agent(self, value: str | None, record: Any) -> SafeString | str:
        return self._hidden if record.is_anonymous else value or ""

    render_model = render_experiment = render_agent

    @cached_property
    def _hidden(self) -> SafeString:
        return hidden()

    def render_outcome(self, value: str | None) -> SafeString:
        return verdict(value)

    def render_anomalies(self, record: Any) -> SafeString | str:
        if record.is_blind:
            return self._hidden
        if not record.shown_anomaly:
            return ""
        kinds = dict.fromkeys(self.marks.get(record.pk, ()))
        words = ((Event.Kind(kind).label,) for kind in kinds)
        return format_html_join(" ", '<span class="badge anomaly">{}</span>', words)

    def render_status(self, value: str) -> SafeString:
        return format_html('<span class="status {}">{}</span>', value, RunStatus(value).label)

    def render_seconds(self, value: float) -> str:
        return duration(value)

    def render_cost(self, value: Any) -> str:
        return money(value)

    def render_created(self, value: Any) -> str:
        return moment(value)


def shown_rows(found: RunFilter, keys: Sequence[UUID]) -> Any:
    """The runs of these keys, in no order, with the names that show."""
    every, visibility = found.every, found.visibility
    if not visibility.is_whole:
        visibility = visibility_of(visibility.user, keys)
        every = extension().run_list.annotate(Run.objects.visible_with(visibility))
    runs: Any = every.order_by()
    return runs.named(visibility).filter(pk__among=keys)


def anomalies_of(runs: list[UUID]) -> dict[UUID, list[str]]:
    """The kinds of anomalies marked in each of the runs, by when they began."""
    found = defaultdict(list)
    if runs:  # of most pages none, and has the flag wherever there is a mark
        marks = Event.objects.filter(run__among=runs, kind__in=ANOMALIES)
        for run, kind in marks.values_list("run", "kind"):
            found[run].append(kind)
    return found


def all_columns() -> dict[str, Any]:
    """Columns that may be shown or not, with their words."""
    columns = [*RunTable.base_columns.items(), *extension().run_list.columns()]
    always = ("selected", "goal")
    return {name: column.verbose_name for name, column in columns if name not in always}


RUNS = declared(ListPage("run", "runs:run_list", all_columns, DEFAULT_COLUMNS))
