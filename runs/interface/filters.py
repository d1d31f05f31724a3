"""The different values of a column, in a time that does not grow with its rows.

`SELECT DISTINCT` reads every row. Here the database jumps from one value to the next greater one by
an index, so the column must be the first of one.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, ClassVar, NamedTuple

import django_filters
from django import forms
from django.db import connection
from django.db.models import Model, QuerySet
from django.http import Http404, QueryDict
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from runs.interface.keyset import ADDRESS_NAMES
from runs.models.parsing import read_number
from webagent.trajectory.values import iso_moment


def distinct_values(model: type[Model], field: str, most: int) -> list[str]:
    """The different texts of an indexed column in order, at most so many; empty ones left out."""
    return list(distinct_with(model, field, field, most))


def distinct_with(model: type[Model], field: str, beside: str, most: int) -> dict[str, str]:
    """The same, each with what another column holds in one of its rows."""
    quoted = connection.ops.quote_name
    names: list[Any] = [model._meta.get_field(name) for name in (field, beside)]
    table = quoted(model._meta.db_table)
    column, other = (quoted(name.column) for name in names)
    statement = (
        "WITH RECURSIVE known(value) AS ("  # noqa: S608 (names of the project's own columns)
        f" SELECT MIN({column}) FROM {table} WHERE {column} > ''"
        f" UNION ALL SELECT (SELECT MIN({column}) FROM {table} WHERE {column} > known.value)"
        " FROM known WHERE known.value IS NOT NULL"
        f") SELECT value, (SELECT {other} FROM {table} WHERE {column} = value LIMIT 1)"
        " FROM known WHERE value IS NOT NULL LIMIT %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [most])
        return dict(cursor.fetchall())


SEARCHED = "q"
"""The filter by text, whose field a page draws whether it is used or not."""
MAX_VALUES = 50
MAX_CHARS = 300


class WordsField(forms.Field):
    """Any number of words, as they stand in the address. Unknown ones simply match nothing."""

    widget = forms.MultipleHiddenInput

    def to_python(self, value: Any) -> list[str]:
        # PostgreSQL refuses a question with a NUL in it, which no word has.
        words = (str(word).replace("\0", "\ufffd") for word in (value or [])[:MAX_VALUES] if word)
        return [word[:MAX_CHARS] for word in words]


class WordsFilter(django_filters.Filter):
    """Rows whose field is one of the given words."""

    field_class = WordsField

    def filter(self, qs: QuerySet[Any], value: list[str]) -> QuerySet[Any]:
        return qs.filter(**{f"{self.field_name}__in": value}) if value else qs


class MomentField(forms.Field):
    """A time with its zone, as ISO 8601; anything else is none."""

    def to_python(self, value: Any) -> datetime | None:
        return iso_moment(value)


class AfterFilter(django_filters.Filter):
    """Rows whose time is later than the given one."""

    field_class = MomentField

    def filter(self, qs: QuerySet[Any], value: datetime | None) -> QuerySet[Any]:
        return qs.filter(**{f"{self.field_name}__gt": value}) if value else qs


def without_nul(typed: Any) -> str:
    """What was typed; no text holds a NUL, and PostgreSQL refuses a question with one in it."""
    return str(typed or "").replace("\0", "")


class SearchField(forms.CharField):
    """What is searched for, up to a bound: a search takes its length times the text's."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(without_nul(value)))[:MAX_CHARS]

    def bound_data(self, data: Any, initial: Any) -> str:
        return without_nul(data)


class SearchFilter(django_filters.CharFilter):
    """Rows whose text holds what is searched for."""

    field_class = SearchField

    def __init__(self, **options: Any) -> None:
        super().__init__(label=_("Search"), **options)


class NumbersFilter(WordsFilter):
    """The same for ids; what is no number matches nothing."""

    def filter(self, qs: QuerySet[Any], value: list[str]) -> QuerySet[Any]:
        return super().filter(qs, [str(read_number(word) or 0) for word in value])


MENU = "menu"
"""Names in an address the filter whose menu is opened."""
Choices = Callable[[], Iterable[tuple[str, Any]]]
"""Gives the values that a filter offers, with their words."""


class Option(NamedTuple):
    """A value that a filter offers, with the address that switches it."""

    value: str
    words: str
    is_chosen: bool
    query: str


class AddressFilter(django_filters.FilterSet):
    """A set of filters that draws itself: menus, whose `options` are read once one is opened, and
    `chips` of what is chosen.
    """

    own_words: ClassVar[frozenset[str]] = frozenset()
    """Filters whose values are their own words: for a chip no menu is read."""

    def get_form_class(self) -> type[forms.Form]:
        """A field for the text that pages ask for, and for what the address names."""
        filters = self.filters.items()
        asked = {name: one.field for name, one in filters if name == SEARCHED or name in self.data}
        made: type[forms.Form] = type(f"{type(self).__name__}Form", (forms.Form,), asked)
        return made

    @cached_property
    def choice_lists(self) -> dict[str, Choices]:
        """What each menu offers."""
        return {}

    @property
    def menus(self) -> list[tuple[str, str]]:
        """The filters that have a menu: name and label."""
        return [(name, str(self.filters[name].label)) for name in self.choice_lists]

    @cached_property
    def chips(self) -> list[tuple[str, str, str]]:
        """What is filtered by: label, value in words, and the query without it."""
        found = []
        for name, one in self.filters.items():
            chosen = self._chosen(name)
            is_worded = chosen and name in self.choice_lists.keys() - self.own_words
            words = dict(self.choice_lists[name]()) if is_worded else {}
            for value in chosen:
                typed = without_nul(value) if name == SEARCHED else value
                shown = self.chip_words(name, str(words.get(value, typed)))
                found.append((str(one.label), shown, self._query_without(name, value)))
        return found

    def chip_words(self, name: str, words: str) -> str:
        """How a chosen value reads on its chip."""
        return words

    def toggled(self, name: str, value: str) -> str:
        """The address with this value switched over."""
        if value in self._chosen(name):
            return self._query_without(name, value)
        query = self._bare_query.copy()
        query.appendlist(name, value)
        return query.urlencode()

    def _chosen(self, name: str) -> list[str]:
        values = self.data.getlist(name) if isinstance(self.data, QueryDict) else []
        return [value for value in values[:MAX_VALUES] if value.strip("\0 ")]

    def options(self, name: str) -> list[Option]:
        """What the menu of a filter offers, with what is chosen.

        Raises:
            Http404: no filter of that name has a menu.
        """
        if name not in self.choice_lists:
            raise Http404
        chosen, choices = self._chosen(name), self.choice_lists[name]()
        return [
            Option(str(value), str(words), value in chosen, self.toggled(name, value))
            for value, words in choices
        ]

    def _query_without(self, name: str, value: str) -> str:
        query = self._bare_query.copy()
        query.setlist(name, [other for other in query.getlist(name) if other != value])
        return query.urlencode()

    @property
    def kept(self) -> list[tuple[str, str]]:
        """What else is asked for beside the text: pairs of the address."""
        lists = self._bare_query.lists()
        return [(name, value) for name, values in lists if name != SEARCHED for value in values]

    @cached_property
    def bare_address(self) -> str:
        """What is asked for as it stands in an address, without the place in the list."""
        return self._bare_query.urlencode()

    @cached_property
    def _bare_query(self) -> QueryDict:
        query = self.data.copy() if isinstance(self.data, QueryDict) else QueryDict(mutable=True)
        for name in ADDRESS_NAMES:
            query.pop(name, None)
        return query
