"""Pages of lists and tables, and how many rows there are: to the last where they are few."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar, overload

from django.core.paginator import Page, Paginator
from django.db import connection
from django.db.models import Model, QuerySet
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

COUNTED = 10_000
"""Up to so many rows are counted; beyond, a page says "about" or "more than"."""
COUNTED_AT_ONCE = 1_000
"""Up to so many before the page is shown; it asks for the rest of the count afterwards."""
BELIEVED = 2 * COUNTED
"""From so many on the planner's word is taken, once as many are there as are counted at once."""


@dataclass(frozen=True, slots=True)
class RowCount:
    """Rows of a list: exactly so many, about so many, or more than so many."""

    number: int
    is_about: bool = False
    is_more: bool = False

    def __str__(self) -> str:
        return f"{self.number}+" if self.is_more else str(self.number)


def count_rows(
    rows: QuerySet[Any], *, may_estimate: bool = False, most: int | None = None
) -> RowCount:
    """How many rows the list has, in a time that does not grow with them.

    Args:
        may_estimate: whether the planner may be asked, which knows all rows: only for somebody
            from whom nothing of them is hidden.
        most: so many are counted at most, `COUNTED` unless said otherwise.
    """
    most = COUNTED if most is None else most
    keys = rows.order_by().values("pk")
    asks = may_estimate and connection.vendor == "postgresql"
    at_once = min(most, COUNTED_AT_ONCE) if asks else most
    # Without an order, so that the database may stop as soon as it has found enough.
    counted = keys[: at_once + 1].count()
    if asks and counted > at_once:
        if (expected := _expected(keys)) >= BELIEVED:
            return RowCount(_rounded(expected), is_about=True)
        if at_once < most:
            counted = keys[: most + 1].count()
    return RowCount(min(counted, most), is_more=counted > most)


def counts_by_choice(counts: Mapping[str, int], *, is_more: bool) -> Callable[[str], str]:
    """Tells how many of the rows that were looked at each choice of a filter finds.

    Args:
        is_more: whether more rows match than were looked at: each count is "at least", and nothing
            is said of a choice that only others may have.
    """

    def words(value: str) -> str:
        n = counts.get(value, 0)
        return str(RowCount(n, is_more=is_more)) if n or not is_more else ""

    return words


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # only its stub takes one
    """Pages of a list that may be long: no more than `COUNTED` rows are counted and reached."""

    @cached_property
    def rows(self) -> RowCount:
        """How many rows there are, of a queryset or in a table."""
        listed: Any = self.object_list
        return count_rows(listed if isinstance(listed, QuerySet) else listed.data.data)

    @cached_property
    def count(self) -> int:
        return self.rows.number


def _expected(keys: QuerySet[Any, Any]) -> int:
    """How many rows the planner expects, from what it last saw of the tables; 0: it cannot tell.

    Where another query decides about a row, it says that half of them stay without a look.
    """
    told = keys.explain(format="json")
    plan: Any = json.loads(told)
    return 0 if "SubPlan" in told else int(plan[0]["Plan"]["Plan Rows"])


def _rounded(number: int) -> int:
    """To two digits: no more are known."""
    return round(number, 1 - int(math.log10(number)))


Row = TypeVar("Row", bound=Model)


class OrderedParts(Sequence[Row], Generic[Row]):
    """The rows of some querysets in turn, for a paginator.

    One query ordered by "which part" would have to sort every row of all parts; here each part is
    read in its own order, by its own index, and only as far as a page needs.
    """

    def __init__(
        self,
        *parts: QuerySet[Row],
        most: int,
        shown: Callable[[QuerySet[Row]], QuerySet[Row]] = lambda rows: rows,
    ) -> None:
        """Rows of these querysets.

        Args:
            most: rows of each part that are counted and can be reached.
            shown: adds what only rows that are shown need, and no count.
        """
        self._parts, self._most, self._shown = parts, most, shown

    @cached_property
    def _lengths(self) -> list[int]:
        return [part.order_by()[: self._most].count() for part in self._parts]

    def __len__(self) -> int:
        return sum(self._lengths)

    @overload
    def __getitem__(self, key: int) -> Row: ...

    @overload
    def __getitem__(self, key: slice) -> list[Row]: ...

    def __getitem__(self, key: int | slice) -> Row | list[Row]:
        if isinstance(key, int):
            return self[key : key + 1][0]
        start, stop, _ = key.indices(len(self))
        rows: list[Row] = []
        first = 0
        for part, length in zip(self._parts, self._lengths, strict=True):
            low, high = max(start - first, 0), min(stop - first, length)
            if low < high:
                rows += self._shown(part)[low:high]
            first += length
        return rows


PER_PAGE = 50


class TablePaginator(Paginator):  # type: ignore[type-arg]  # only its stub takes one
    """Pages of a table's rows, which nothing counts where the first page holds them all."""

    def page(self, number: int | str) -> Page[Any]:
        if number != 1:
            return super().page(number)
        rows = list(self.object_list[: self.per_page + 1])
        if len(rows) <= self.per_page:
            self.count = len(rows)
        return Page(rows[: self.per_page], 1, self)


def hidden() -> SafeString:
    """What stands in a cell that this person must not read yet."""
    return format_html('<span class="muted">{}</span>', _("hidden"))
