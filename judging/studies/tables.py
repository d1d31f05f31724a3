"""The table of studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import django_tables2 as tables
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext_lazy as _

from judging.models import Study, StudyItem, StudyMember
from judging.studies.access import AUDIT
from judging.studies.labels.pages import Progress
from judging.studies.pages import StudyRow
from runs.interface.paging import RowCount
from runs.interface.words import time_left
from runs.models import User

COUNTS = ("total", *StudyItem.Status.values)


class CountColumn(tables.Column):  # type: ignore[misc]  # the library has no types
    """How many runs of the study are of one status."""

    def __init__(self, words: Any, name: str) -> None:
        self.counted = name
        td = {"class": "num", "data-label": words}
        super().__init__(
            verbose_name=words, accessor="counts", attrs={"td": td, "th": {"class": "num"}}
        )

    def render(self, value: dict[str, RowCount]) -> str:
        return str(value[self.counted])


class ActionColumn(tables.Column):  # type: ignore[misc]  # the library has no types
    """A button; the heading is there for screen readers alone."""

    @property
    def header(self) -> SafeString:
        return format_html('<span class="visually-hidden">{}</span>', gettext("Actions"))


def study_link(study: Study, page: str) -> SafeString:
    """The study by its name, which opens that page of it, and its marks."""
    is_marked = {gettext("demo"): study.is_demo, gettext("closed"): not study.is_open}
    marks = [(mark,) for mark, holds in is_marked.items() if holds]
    address = reverse(page, args=[study.pk])
    link = format_html('<a href="{}" hx-disable>{}</a>', address, study.name)
    return link + format_html_join("", ' <span class="badge">{}</span>', marks)


class StudyTable(tables.Table):  # type: ignore[misc]  # the library has no types
    """One `StudyRow` a row; without columns that say nothing to this person."""

    name = tables.Column(
        verbose_name=_("study"), accessor="study", attrs={"td": {"class": "first wide"}}
    )
    part = tables.Column(verbose_name=_("Your role"), default="—")
    own = tables.Column(
        verbose_name=_("Your progress"), default="—", attrs={"td": {"class": "nowrap"}}
    )
    total = CountColumn(_("runs"), "total")
    settled = CountColumn(_("settled"), StudyItem.Status.SETTLED)
    disputed = CountColumn(_("disputed"), StudyItem.Status.DISPUTED)
    open = CountColumn(_("open"), StudyItem.Status.OPEN)
    action = ActionColumn(accessor="study", attrs={"td": {"class": "fit"}})

    class Meta:
        orderable = False
        attrs = {"class": "table list", "aria-label": _("studies")}

    def __init__(self, rows: Sequence[StudyRow], user: User) -> None:
        self.audits = user.has_perm(AUDIT)
        left_out = [] if user.has_perm("judging.view_study") else list(COUNTS)
        if not any(row.part for row in rows):
            left_out += ["part", "own"]
        super().__init__(rows, exclude=left_out)

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
            address = reverse("judging:annotate", args=[value.pk])
            return format_html(link, " primary", address, pgettext("a button", "Label"))
        if self.audits:
            return format_html(
                link, "", reverse("judging:audit", args=[value.pk]), gettext("Audit")
            )
        return ""
