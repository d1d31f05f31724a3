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

from runs.interface.words import age, moment, verdict

if TYPE_CHECKING:
    from judging.models.labels import DisputeQuerySet

READ = (
    *("pk", "item__study__name"),
    *("item__run__goal", "item__run__task__goal", "item__run__task__external_id"),
)
DECISION = tuple(
    f"item__verdict__{name}" for name in ("verdict", "decided_at", "decided_by__username")
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

    class Meta:
        orderable = False
        attrs = {"class": "table list"}

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


class WaitingDisputeTable(DisputeTable):
    """Disputes that wait: for how long, and how much was said."""

    age = tables.Column(
        verbose_name=_("Open for"), accessor="opened_at", attrs={"td": {"class": "nowrap"}}
    )
    n_messages = tables.Column(
        verbose_name=_("Comments"),
        attrs={"td": {"class": "num", "data-label": _("Comments")}, "th": {"class": "num"}},
    )

    class Meta(DisputeTable.Meta):
        """The library does not pass it on by itself."""

    def __init__(self, disputes: DisputeQuerySet, **options: Any) -> None:
        counted = disputes.with_message_counts()
        rows = counted.values_list(*READ, "opened_at", "n_messages", named=True)
        super().__init__(list(rows), **options)

    def render_age(self, value: datetime) -> SafeString:
        return age(value)


class DecidedDisputeTable(DisputeTable):
    """Decided ones: what was decided, when, and by whom."""

    verdict = tables.Column(verbose_name=_("verdict"), accessor="item__verdict__verdict")
    decided = tables.Column(
        verbose_name=_("Decided"),
        accessor="item__verdict__decided_at",
        attrs={"td": {"class": "nowrap"}},
    )

    class Meta(DisputeTable.Meta):
        """The library does not pass it on by itself."""

    def __init__(self, disputes: DisputeQuerySet, **options: Any) -> None:
        super().__init__(list(disputes.values_list(*READ, *DECISION, named=True)), **options)

    def render_verdict(self, value: str) -> SafeString:
        return verdict(value)

    def render_decided(self, value: datetime, record: Any) -> SafeString | str:
        by = record.item__verdict__decided_by__username
        return format_html("{} · {}", moment(value), by) if by else moment(value)
