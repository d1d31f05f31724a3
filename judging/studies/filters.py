"""The filters of the list of studies. The address is their whole state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property

from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from judging.models import Study, StudyMember
from judging.studies.pages import listed_studies
from runs.interface.filters import AddressFilter, Choices, SearchFilter, WordsFilter
from runs.interface.paging import counts_by_choice
from runs.models import User

OPEN, CLOSED = "open", "closed"
COUNTED = 1_000
"""Counts are of so many studies, the first that match; where more do, each is "at least"."""


class StudyFilter(AddressFilter):
    """Filters the studies that the person may open."""

    q = SearchFilter(field_name="name", lookup_expr="icontains", label=_("name"))
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
