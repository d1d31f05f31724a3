"""The list of disputes: whose they are, the filter, whose whole state is the address, the table."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

import django_tables2 as tables
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import QueryDict
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from judging.models import Dispute, Label, ReferenceVerdict, Study, StudyItem, StudyMember
from judging.models.labels import DisputeQuerySet
from judging.studies.access import AUDIT
from judging.studies.blinding import disputes_open_to
from runs.interface.filters import AddressFilter, Choices, NumbersFilter, SearchFilter, WordsFilter
from runs.interface.lists import ListPage, columns_of, declared, row_address
from runs.interface.paging import counts_by_choice
from runs.interface.words import age, moment, verdict
from runs.models import User
from runs.models.parsing import read_number
from runs.models.runs.queries import run_title

WAITING, DECIDED = "waiting", "decided"
PER_PAGE = 50
MOST_WAITING = 1_000
"""Disputes that wait, of all studies, the oldest: so many are looked through for a list."""
LOOKED_THROUGH = 10
"""For each decided dispute that is listed, so many of the latest are looked through."""


def own_disputes(user: User) -> DisputeQuerySet:
    """Disputes over the person's own labels, or in studies that they adjudicate."""
    return disputes_open_to(user).filter(item__in=_own_items(user))


def _own_items(user: User) -> QuerySet[Any, Any]:
    labelled = Label.objects.independent().filter(annotator=user)
    judged = StudyMember.objects.filter(user=user, part=StudyMember.Part.ADJUDICATOR, left_at=None)
    in_judged = Dispute.objects.filter(item__study__in=judged.values("study"))
    # A list of the person's own, and no choice between two: that would be asked of every dispute.
    return labelled.order_by().values("item").union(in_judged.order_by().values("item"), all=True)


def waiting_disputes(
    user: User, most: int, studies: Collection[int] = (), text: str = ""
) -> DisputeQuerySet:
    """Disputes that wait and that the person may open, the oldest first.

    Args:
        most: so many of the oldest are looked through.
        studies: only of these, where there are any.
        text: only those whose goal holds it.
    """
    waiting = Dispute.objects.waiting()
    if studies:
        waiting = waiting.filter(item__study__in=studies)
    if user.has_perm(AUDIT):
        # As a list, found by an index: from the items SQLite would begin with those of all studies.
        waiting = waiting.filter(item__study__in=Study.objects.filter(is_open__in=[True]))
    else:
        waiting = waiting.filter(item__in=_own_items(user))
    keys = list(waiting.values_list("pk", flat=True)[:most])
    return disputes_open_to(user).filter(_holds(text), pk__among=keys).order_by("opened_at")


def decided_disputes(
    user: User, most: int, studies: Collection[int] = (), text: str = ""
) -> DisputeQuerySet:
    """The latest decided ones that the person may open, at most so many.

    Args:
        studies: only of these, where there are any.
        text: only those whose goal holds it.
    """
    looked_through = LOOKED_THROUGH * most
    if not user.has_perm(AUDIT):
        own = Dispute.objects.decided().filter(item__in=_own_items(user))
        if studies:
            own = own.filter(item__study__in=studies)
        keys = list(own.values_list("pk", flat=True)[:looked_through])
        opened = disputes_open_to(user).filter(_holds(text), pk__among=keys).decided()
        latest_own = list(opened.values_list("pk", flat=True)[:most])
        return Dispute.objects.filter(pk__among=latest_own).decided()
    # Begins with the latest verdicts and asks of each: sorting disputes would read them all.
    of_verdict = disputes_open_to(user).filter(
        item=OuterRef("item"), item__status=StudyItem.Status.SETTLED
    )
    latest = ReferenceVerdict.objects.filter(Exists(of_verdict)).order_by("-decided_at", "-pk")
    asked = latest.values_list("item", "item__study")
    asked = asked[: looked_through if studies or text else most]
    items = [item for item, study in asked if not studies or study in studies]
    order = ("-item__verdict__decided_at", "-item__verdict")
    if text:
        found = Dispute.objects.filter(_holds(text), item__among=items).order_by(*order)
        items = list(found.values_list("item", flat=True)[:most])
    return Dispute.objects.filter(item__among=items[:most]).order_by(*order)


def _holds(text: str) -> Q:
    """Whether what a dispute is listed by holds the text; without a text, all do."""
    if not text:
        return Q()
    return (
        Q(item__run__goal__icontains=text)
        | Q(item__run__goal="", item__run__task__goal__icontains=text)
        | Q(
            item__run__goal="",
            item__run__task__goal="",
            item__run__task__external_id__icontains=text,
        )
    )


class DisputeFilter(AddressFilter):
    """Filters the disputes that the person may open; offers only what these have."""

    q = SearchFilter()
    state = WordsFilter(label=_("state"))
    study = NumbersFilter(label=_("study"))

    class Meta:
        model = Dispute
        fields: tuple[str, ...] = ()

    def __init__(self, data: QueryDict, *, user: User) -> None:
        self.user = user
        super().__init__(data, Dispute.objects.none())

    @property
    def studies(self) -> list[int]:
        """Those that are chosen; 0 stands for what is none."""
        return [read_number(pk) or 0 for pk in self._chosen("study")]

    @cached_property
    def text(self) -> str:
        """What is searched for."""
        return self.form.cleaned_data["q"] if self.is_valid() else ""

    @property
    def waiting(self) -> DisputeQuerySet:
        """Those that wait, the oldest first."""
        if not self._wants(WAITING):
            return Dispute.objects.none()
        return waiting_disputes(self.user, MOST_WAITING, self.studies, self.text)

    @property
    def decided(self) -> DisputeQuerySet:
        """The latest decided ones."""
        if not self._wants(DECIDED):
            return Dispute.objects.none()
        return decided_disputes(self.user, PER_PAGE, self.studies, self.text)

    def _wants(self, state: str) -> bool:
        chosen = self._chosen("state")
        return not chosen or state in chosen

    @cached_property
    def choice_lists(self) -> dict[str, Choices]:
        states = [(WAITING, _("Waiting")), (DECIDED, _("Decided"))]
        return {"state": lambda: states, "study": self._studies}

    def _studies(self) -> list[tuple[str, str]]:
        every = DisputeFilter(QueryDict(), user=self.user)
        names: dict[int, str] = {}
        for part in (every.waiting, every.decided):
            names.update(part.order_by().values_list("item__study", "item__study__name"))
        return sorted(((str(pk), name) for pk, name in names.items()), key=lambda pair: pair[1])

    def counts(self, name: str) -> Callable[[str], str]:
        """Tells how many of the disputes that are listed have a value of a filter."""
        waiting, decided = (
            list(part.order_by().values_list("item__study", flat=True))
            for part in (self.waiting, self.decided)
        )
        is_more = len(waiting) == MOST_WAITING or len(decided) == PER_PAGE
        if name == "state":
            found = Counter({WAITING: len(waiting), DECIDED: len(decided)})
        else:
            found = Counter(map(str, waiting + decided))
        return counts_by_choice(found, is_more=is_more)


READ = (
    *("pk", "item__study__name", "item__status", "item__run", "opened_at", "n_messages", "title"),
    *(f"item__verdict__{name}" for name in ("verdict", "decided_at", "decided_by__username")),
)
GOAL_CHARS = 120


# The library has no types; a class of it is Any.
class DisputeTable(tables.Table):  # type: ignore[misc]  # the library has no types
    """One dispute a row; nothing of the run that may be hidden."""

    goal = tables.Column(
        verbose_name=_("task"),
        accessor="pk",
        attrs={"td": {"class": "first wide", "hx-disable": True}},
    )
    study = tables.Column(verbose_name=_("study"), accessor="item__study__name")
    state = tables.Column(verbose_name=_("state"), accessor="item__status")
    age = tables.Column(
        verbose_name=_("Open for"),
        accessor="opened_at",
        attrs={"td": {"class": "nowrap", "data-label": _("Open for")}},
    )
    n_messages = tables.Column(
        verbose_name=_("Comments"),
        attrs={"td": {"class": "num", "data-label": _("Comments")}, "th": {"class": "num"}},
    )
    verdict = tables.Column(verbose_name=_("verdict"), accessor="item__verdict__verdict")
    decided = tables.Column(
        verbose_name=_("Decided"),
        accessor="item__verdict__decided_at",
        attrs={"td": {"class": "nowrap"}},
    )

    class Meta:
        orderable = False
        attrs = {"class": "table list", "aria-label": _("Disputes")}
        row_attrs = {
            "data-preview": lambda record: row_address("runs:run_preview", record.item__run)
        }
        default = ""

    def __init__(self, keys: Sequence[int], user: User) -> None:
        """Draw the disputes of a page, in the order of their keys."""
        counted: DisputeQuerySet = Dispute.objects.filter(pk__among=keys).with_message_counts()
        titled = counted.annotate(title=run_title("item__run__"))
        rows = {row.pk: row for row in titled.values_list(*READ, named=True)}
        listed = [rows[pk] for pk in keys if pk in rows]
        super().__init__(listed, exclude=DISPUTES.left_out(user))

    def render_goal(self, record: Any) -> SafeString:
        words = record.title
        if len(words) > GOAL_CHARS:
            words = Truncator(words).chars(GOAL_CHARS)
        address = row_address("judging:dispute_detail", record.pk)
        return format_html('<a class="row-link" href="{}">{}</a>', address, words)

    def render_state(self, value: str) -> str:
        return str(_("Decided") if value == StudyItem.Status.SETTLED else _("Waiting"))

    def render_age(self, value: datetime, record: Any) -> SafeString | str:
        return "" if record.item__status == StudyItem.Status.SETTLED else age(value)

    def render_verdict(self, value: str) -> SafeString:
        return verdict(value)

    def render_decided(self, value: datetime, record: Any) -> SafeString | str:
        by = record.item__verdict__decided_by__username
        return format_html("{} · {}", moment(value), by) if by else moment(value)


DISPUTES = declared(ListPage("dispute", "judging:dispute_list", columns_of(DisputeTable, "goal")))
