"""The table of disputes."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import django_tables2 as tables
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from judging.models import StudyItem
from runs.interface.words import moment, verdict

if TYPE_CHECKING:
    from judging.models.labels import DisputeQuerySet

READ = (
    *("pk", "opened_at", "item__status", "item__verdict__verdict", "item__study__name"),
    *("item__run__goal", "item__run__task__goal", "item__run__task__external_id"),
)
GOAL_CHARS = 120


# The library has no types; a class of it is Any.
class DisputeTable(tables.Table):  # type: ignore[misc]  # the library has no types
    """One dispute a row; nothing of the run that may be hidden."""

    goal = tables.Column(
        verbose_name=_("task"),
        accessor="pk",
        attrs={"td": {"class": "first half", "hx-disable": True}},
    )
    study = tables.Column(verbose_name=_("study"), accessor="item__study__name")
    since = tables.Column(
        verbose_name=_("Since"), accessor="opened_at", attrs={"td": {"class": "nowrap"}}
    )
    verdict = tables.Column(
        verbose_name=_("verdict"), accessor="item__verdict__verdict", empty_values=()
    )

    class Meta:
        orderable = False
        attrs = {"class": "table list"}

    def __init__(self, disputes: DisputeQuerySet, **options: Any) -> None:
        super().__init__(list(disputes.values_list(*READ, named=True)), **options)

    @cached_property
    def _any_address(self) -> str:
        return reverse("judging:dispute_detail", args=[0])

    def render_goal(self, record: Any) -> SafeString:
        told = record.item__run__goal or record.item__run__task__goal
        words = told or record.item__run__task__external_id
        if len(words) > GOAL_CHARS:
            words = Truncator(words).chars(GOAL_CHARS)
        address = self._any_address.replace("0", str(record.pk))
        return format_html('<a href="{}">{}</a>', address, words)

    def render_since(self, value: datetime) -> str:
        return moment(value)

    def render_verdict(self, value: str | None, record: Any) -> SafeString:
        is_settled = record.item__status == StudyItem.Status.SETTLED
        return verdict(value if is_settled else "disputed")
