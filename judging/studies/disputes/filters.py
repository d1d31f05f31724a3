"""The disputes that a person's list holds, and its filter. The address is its whole state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from judging.models import Dispute
from judging.models.labels import DisputeQuerySet
from judging.studies.disputes.pages import decided_disputes, waiting_disputes
from runs.interface.filters import AddressFilter, Choices, NumbersFilter, SearchFilter, WordsFilter
from runs.interface.paging import counts_by_choice
from runs.models import User
from runs.models.parsing import read_number

WAITING, DECIDED = "waiting", "decided"
PER_PAGE = 50
MOST_WAITING = 1_000
"""Disputes that wait, of all studies, the oldest: so many are looked through for a list."""


class DisputeFilter(AddressFilter):
    """Filters the disputes that the person may open; offers only what these have."""

    q = SearchFilter(label=_("text"))
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
