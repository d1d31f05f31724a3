"""The list of studies: its filter, whose whole state is the address, and its table."""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Self

import django_tables2 as tables
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _
from django_tables2.data import TableQuerysetData

from judging.models import Study, StudyItem, StudyMember
from judging.studies.access import AUDIT
from judging.studies.labels.pages import Progress
from judging.studies.pages import StudyRow, listed_studies, study_rows
from runs.interface.filters import AddressFilter, Choices, SearchFilter, WordsFilter
from runs.interface.lists import ListPage, columns_of, declared, row_address
from runs.interface.paging import RowCount, counts_by_choice
from runs.interface.words import moment, time_left
from runs.models import User

OPEN, CLOSED = "open", "closed"
COUNTED = 1_000
"""Counts are of so many studies, the first that match; where more do, each is "at least"."""


class StudyFilter(AddressFilter):
    """Filters the studies that the person may open."""

    q = SearchFilter(field_name="name", lookup_expr="icontains")
    state = WordsFilter(method="filter_state", label=_("state"))
    part = WordsFilter(method="filter_part", label=_("Your role"))

    class Meta:
        model = Study
        fields: tuple[str, ...] = ()

    def __init__(self, data: QueryDict, *, user: User) -> None:
        self.user = user
        super().__init__(data, listed_studies(user))

    def filter_state(
        self, queryset: QuerySet[Study], name: str, value: list[str]
    ) -> QuerySet[Study]:
        wanted = [is_open for word, is_open in ((OPEN, True), (CLOSED, False)) if word in value]
        return queryset.filter(is_open__in=wanted) if value else queryset

    def filter_part(
        self, queryset: QuerySet[Study], name: str, value: list[str]
    ) -> QuerySet[Study]:
        own = self.user.study_parts.filter(left_at=None, part__in=value)
        return queryset.filter(pk__in=own.values("study")) if value else queryset

    @cached_property
    def choice_lists(self) -> dict[str, Choices]:
        states = [(OPEN, pgettext_lazy("a study", "open")), (CLOSED, _("closed"))]
        return {"state": lambda: states, "part": lambda: StudyMember.Part.choices}

    def counts(self, name: str) -> Callable[[str], str]:
        """Tells how many of the first studies that match have a value of a filter."""
        first = list(self.qs.values_list("pk", "is_open")[: COUNTED + 1])
        shown = dict(first[:COUNTED])
        if name == "part":
            own = self.user.study_parts.filter(left_at=None, study__in=list(shown))
            found = Counter(own.values_list("part", flat=True))
        else:
            found = Counter(OPEN if is_open else CLOSED for is_open in shown.values())
        return counts_by_choice(found, is_more=len(first) > COUNTED)


COUNTS = ("total", *StudyItem.Status.values)
OWN = ("part", "own")


class CountColumn(tables.Column):  # type: ignore[misc]  # the library has no types
    """How many runs of the study are of the status that the column is named as."""

    def __init__(self, words: Any) -> None:
        td = {"class": "num", "data-label": words}
        super().__init__(
            verbose_name=words, accessor="counts", attrs={"td": td, "th": {"class": "num"}}
        )

    def render(self, value: dict[str, RowCount], bound_column: Any) -> str:
        return str(value[bound_column.name])


class ActionColumn(tables.Column):  # type: ignore[misc]  # the library has no types
    """A button; the heading is there for screen readers alone."""

    @property
    def header(self) -> SafeString:
        return format_html('<span class="visually-hidden">{}</span>', gettext("Actions"))


def study_link(study: Study, page: str) -> SafeString:
    """The study by its name, which opens that page of it, and its marks."""
    is_marked = {gettext("demo"): study.is_demo, gettext("closed"): not study.is_open}
    marks = [(mark,) for mark, holds in is_marked.items() if holds]
    address = row_address(page, study.pk)
    link = format_html('<a class="row-link" href="{}" hx-disable>{}</a>', address, study.name)
    return link + format_html_join("", ' <span class="badge">{}</span>', marks)


class StudyData(TableQuerysetData):  # type: ignore[misc]  # the library has no types
    """Studies, of which only a page's become `StudyRow`."""

    data: Any

    def __init__(self, studies: QuerySet[Study], user: User) -> None:
        super().__init__(studies)
        self.user = user

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return study_rows(self.user, list(found)) if isinstance(key, slice) else found


class StudyTable(tables.Table):  # type: ignore[misc]  # the library has no types
    """One `StudyRow` a row; without columns that say nothing to this person."""

    name = tables.Column(
        verbose_name=_("study"), accessor="study", attrs={"td": {"class": "first wide"}}
    )
    part = tables.Column(verbose_name=_("Your role"), default="—")
    own = tables.Column(
        verbose_name=_("Your progress"), default="—", attrs={"td": {"class": "nowrap"}}
    )
    total = CountColumn(_("runs"))
    settled = CountColumn(_("settled"))
    disputed = CountColumn(_("disputed"))
    open = CountColumn(_("open"))
    action = ActionColumn(accessor="study", attrs={"td": {"class": "fit"}})

    class Meta:
        orderable = False
        attrs = {"class": "table list", "aria-label": _("studies")}

    def __init__(
        self, rows: Sequence[StudyRow] | StudyData, user: User, left_out: Sequence[str] = ()
    ) -> None:
        self.audits = user.has_perm(AUDIT)
        super().__init__(rows, exclude=left_out)

    @classmethod
    def of(cls, rows: Sequence[StudyRow], user: User) -> Self:
        """These rows, with every column that says something to the person."""
        return cls(rows, user, _silent(user, has_part=any(row.part for row in rows)))

    def render_name(self, value: Study) -> SafeString:
        return study_link(value, "judging:study_detail")

    def render_part(self, value: str) -> str:
        return str(StudyMember.Part(value).label)

    def render_own(self, value: Progress) -> str:
        done = gettext("%(done)s of %(total)s labelled") % {
            "done": value.done,
            "total": value.total,
        }
        left = value.left and value.seconds_left
        return f"{done} · {time_left(left)}" if left else done

    def render_action(self, value: Study, record: StudyRow) -> SafeString | str:
        link = '<a class="button small{}" href="{}">{}</a>'
        if record.own and record.own.left:
            address = row_address("judging:annotate", value.pk)
            return format_html(link, " primary", address, pgettext("a button", "Label"))
        if self.audits:
            return format_html(link, "", row_address("judging:audit", value.pk), gettext("Audit"))
        return ""


class StudyListTable(StudyTable):
    """The page of studies: its columns are chosen, two of them sort, each by an index."""

    name = tables.Column(
        verbose_name=_("study"),
        accessor="study",
        attrs={"td": {"class": "first wide"}},
        orderable=True,
        order_by=("name",),
    )
    created = tables.Column(
        verbose_name=_("Created"),
        accessor="study__created_at",
        attrs={"td": {"class": "nowrap desk"}},
        orderable=True,
        order_by=("created_at", "pk"),
    )

    class Meta(StudyTable.Meta):
        row_attrs = {
            "data-preview": lambda record: row_address("judging:study_preview", record.study.pk)
        }
        sequence = ("...", "created", "action")

    is_partial = True
    """Its links swap the table by htmx."""
    leaves_pages_out = True
    """The page draws its pages itself."""

    def __init__(self, studies: QuerySet[Study], user: User) -> None:
        super().__init__(StudyData(studies, user), user, STUDIES.left_out(user))

    def render_created(self, value: datetime) -> SafeString | str:
        return moment(value)


def _silent(user: User, *, has_part: bool) -> list[str]:
    """The columns that say nothing to the person."""
    counts = () if user.has_perm("judging.view_study") else COUNTS
    return [*counts, *(() if has_part else OWN)]


def _hidden(user: User) -> list[str]:
    return _silent(user, has_part=user.study_parts.filter(left_at=None).exists())


STUDIES = declared(
    ListPage(
        "study", "judging:study_list", columns_of(StudyListTable, "name", "action"), hides=_hidden
    )
)
