"""Pages of a long list found by their rows and not by their number: none is too deep.

A page begins after a row, or ends before one, which the address names by its id alone: what the
row is ordered by is read anew as the viewer may see it, so that an address tells nobody anything.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import QueryDict

from runs.interface.paging import RowCount

AFTER, BEFORE, NUMBER = "after", "before", "page"
ADDRESS_NAMES = (AFTER, BEFORE, NUMBER)
"""What of an address says which page of a list is meant, and nothing about the list itself."""
LARGEST_NUMBER = 10**6
AGES = ("created_at", "pk")
"""The order of rows that are alike in the lead: no two rows share it."""
LOOKED_AT = 2_000
"""Up to so many of all rows in order are asked whether they match before all that do are sorted."""


@dataclass(frozen=True, slots=True)
class Lead:
    """What a list is ordered by first; rows that are alike in it follow by their age.

    An index of this column, age and key reads it.
    """

    field: str
    flag: str = ""
    """Annotated and true where the viewer may not know the field: there it stands like NULL."""
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Cursor:
    """The row beside which a page lies."""

    row: UUID
    is_before: bool
    number: int | None
    """Which page it is to whoever paged there; a word of theirs, and nothing relies on it."""


@dataclass(frozen=True, slots=True)
class KeyPage:
    """The keys of one page, and the rows beside which its neighbours lie."""

    keys: Sequence[UUID]
    previous: UUID | None
    next: UUID | None
    number: int | None

    def query(self, given: QueryDict, *, back: bool) -> str:
        """The address of the page before or after; empty where there is none."""
        row = self.previous if back else self.next
        if row is None:
            return ""
        query = given.copy()
        for name in ADDRESS_NAMES:
            query.pop(name, None)
        query[BEFORE if back else AFTER] = str(row)
        if self.number:
            query[NUMBER] = str(max(self.number + (-1 if back else 1), 1))
        return f"?{query.urlencode()}"


def read_cursor(query: QueryDict) -> Cursor | None:
    """The cursor of an address; None where it names none that makes sense."""
    written = query.get(NUMBER, "")
    number = int(written) if written.isascii() and written.isdecimal() and len(written) < 8 else 0
    for name in (AFTER, BEFORE):
        try:
            row = UUID(query.get(name, ""))
        except ValueError:
            continue
        known = number if 0 < number <= LARGEST_NUMBER else None
        return Cursor(row, is_before=name == BEFORE, number=known)
    return None


class Keyset:
    """A list in an order that no two rows share: the lead, then age.

    A list that rises shows the newest of those alike first, one that falls the oldest, so that
    one index serves both. Each page is read in parts, each by an index and only as far as needed:
    what is alike in the lead, what comes after, and what has no value.
    """

    def __init__(
        self,
        rows: QuerySet[Any],
        every: QuerySet[Any],
        *,
        lead: Lead | None,
        falls: bool,
        ages: tuple[str, str] = AGES,
    ) -> None:
        """
        Args:
            rows: the list, filtered, in no order.
            every: rows that may stand beside a page, whether they are in the list or not.
            lead: None orders by age alone.
            ages: what the rows' age and key are called, where they are read from another table.
        """
        self._rows, self._every, self._lead, self._falls = rows, every, lead, falls
        self._age_names = ages

    def page(self, cursor: Cursor | None, size: int, *, are_common: bool = False) -> KeyPage:
        """The page beside the cursor; the first where it leads nowhere.

        Args:
            are_common: many rows match what no index has together with the lead. Of the next rows
                some fill a page then; SQLite would sort all that match.
        """
        looks_first = are_common and connection.vendor == "sqlite"
        beside = self._position(cursor) if cursor else None
        if cursor is None or beside is None:
            keys = self._keys(None, back=False, most=size + 1, looks_first=looks_first)
            return self._ahead(keys, size, before=None, number=1)
        keys = self._keys(beside, back=cursor.is_before, most=size + 1, looks_first=looks_first)
        if cursor.is_before:
            if len(keys) <= size:
                return self.page(None, size, are_common=are_common)
            shown = keys[:size][::-1]
            return KeyPage(shown, previous=shown[0], next=shown[-1], number=cursor.number)
        if not keys:
            return self.page(None, size)
        return self._ahead(keys, size, before=keys[0], number=cursor.number)

    def first_of(self, size: int, counted: int) -> tuple[KeyPage, RowCount]:
        """The first page, and how many rows there are, up to so many: in one query.

        For lists of which the database has to work out every row before it knows the first.
        """
        keys = self._keys(None, back=False, most=max(size, counted) + 1)
        page = self._ahead(keys, size, before=None, number=1)
        return page, RowCount(min(len(keys), counted), is_more=len(keys) > counted)

    def _ahead(
        self, keys: list[UUID], size: int, *, before: UUID | None, number: int | None
    ) -> KeyPage:
        is_last = len(keys) <= size
        return KeyPage(keys[:size], before, None if is_last else keys[size - 1], number)

    def parts(self, beside: tuple[Any, ...] | None, *, back: bool) -> Iterator[QuerySet[Any]]:
        """The list from there on, as querysets in turn."""
        lead = self._lead
        if lead is None:
            yield self._by_age(self._rows, beside, falls=self._falls != back)
            return
        falls = self._falls != back
        ages_fall = (not self._falls) != back
        if not lead.flag and beside is None:
            yield self._rows.order_by(*_directed((lead.field,), falls), *self._ages(ages_fall))
            return
        value = beside[0] if beside else None
        starts_null = beside is not None and value is None
        nulls_last = connection.features.nulls_order_largest != falls
        if starts_null or (beside is None and not nulls_last):
            yield from self._nulls(lead, beside, ages_fall)
        if not starts_null or not nulls_last:
            yield from self._values(lead, None if starts_null else beside, falls, ages_fall)
        if not starts_null and nulls_last:
            yield from self._nulls(lead, None, ages_fall)

    def _nulls(
        self, lead: Lead, beside: tuple[Any, ...] | None, falls: bool
    ) -> Iterator[QuerySet[Any]]:
        if not (lead.flag or lead.nullable):
            return
        nothing = Q(**{f"{lead.field}__isnull": True}) if lead.nullable else Q()
        if lead.flag:
            nothing |= Q(**{lead.flag: True})
        yield self._by_age(self._rows.filter(nothing), beside, falls=falls)

    def _values(
        self, lead: Lead, beside: tuple[Any, ...] | None, falls: bool, ages_fall: bool
    ) -> Iterator[QuerySet[Any]]:
        rows = self._rows.filter(**{lead.flag: False}) if lead.flag else self._rows
        after = Q(**{f"{lead.field}__isnull": False}) if lead.nullable else Q()
        if beside:
            yield self._by_age(rows.filter(**{lead.field: beside[0]}), beside, falls=ages_fall)
            after = Q(**{f"{lead.field}__{'lt' if falls else 'gt'}": beside[0]})
        order = _directed((lead.field,), falls)
        yield rows.filter(after).order_by(*order, *self._ages(ages_fall))

    def _by_age(
        self, rows: QuerySet[Any], beside: tuple[Any, ...] | None, *, falls: bool
    ) -> QuerySet[Any]:
        if beside:
            created, key = beside[-2:]
            age_name, key_name = self._age_names
            sign = "lt" if falls else "gt"
            # The first condition alone is what an index can be searched by.
            rows = rows.filter(
                Q(**{f"{age_name}__{sign}": created}) | Q(**{f"{key_name}__{sign}": key}),
                **{f"{age_name}__{sign}e": created},
            )
        return rows.order_by(*self._ages(falls))

    def _ages(self, falls: bool) -> list[str]:
        return _directed(self._age_names, falls)

    def _keys(
        self, beside: tuple[Any, ...] | None, *, back: bool, most: int, looks_first: bool = False
    ) -> list[UUID]:
        keys: list[UUID] = []
        lead = self._lead if looks_first else None
        every = Keyset(self._every, self._every, lead=lead, falls=self._falls)
        unfiltered = every.parts(beside, back=back) if lead else repeat(self._every)
        for part, among in zip(self.parts(beside, back=back), unfiltered, strict=False):
            wanted = most - len(keys)
            found: list[UUID] = []
            if lead:
                is_whole = beside is None and not lead.flag
                near = self._near(among, lead, is_whole=is_whole, falls=self._falls != back)
                found = _matching(part, among.filter(near), wanted)
            keys += found or part.values_list("pk", flat=True)[:wanted]
            if len(keys) == most:
                break
        return keys

    def _near(self, among: QuerySet[Any], lead: Lead, *, is_whole: bool, falls: bool) -> Q:
        """The first `LOOKED_AT` rows of a part, and those of the same moment as the last.

        Args:
            is_whole: it is all of the list; else those without a value are a part by themselves.
        """
        age_name = self._age_names[0]
        flags = [lead.flag] if lead.flag else []
        last = among.values_list(*flags, lead.field, age_name)[LOOKED_AT : LOOKED_AT + 1]
        if not last:
            return Q()
        [(*hidden, value, age)] = last
        nothing = Q(**{f"{lead.field}__isnull": True})
        as_old = Q(**{f"{age_name}__{'lte' if falls else 'gte'}": age})
        if value is None or any(hidden):
            if not is_whole:
                return as_old
            return ~nothing if falls else nothing & as_old
        sign = "gt" if falls else "lt"
        before = Q(**{f"{lead.field}__{sign}": value})
        until = Q(**{f"{lead.field}__{sign}e": value})
        if lead.nullable and not falls:
            before, until = before | nothing, until | nothing
        return until & (before | as_old)

    def _position(self, cursor: Cursor) -> tuple[Any, ...] | None:
        """Where the row stands: its lead as it is shown, its age and its key."""
        lead = self._lead
        names = [lead.field] if lead else []
        flags = [lead.flag] if lead and lead.flag else []
        found = (
            self._every.filter(pk=cursor.row)
            .order_by()
            .values_list(*flags, *names, "created_at", "pk")
            .first()
        )
        if found is None or lead is None:
            return found
        hides, place = bool(flags) and found[0], found[len(flags) :]
        return (None if hides else place[0], *place[1:])


def _matching(part: QuerySet[Any], rows: QuerySet[Any], wanted: int) -> list[UUID]:
    """So many keys of rows that are in the part; none where too few are."""
    # Each is asked: SQLite would follow the index of a filter through all that match.
    matches = Exists(part.order_by().filter(pk=OuterRef("pk")))
    found = list(rows.filter(matches).values_list("pk", flat=True)[:wanted])
    return found if len(found) == wanted else []


def _directed(names: Iterable[str], falls: bool) -> list[str]:
    return [f"-{name}" if falls else name for name in names]
