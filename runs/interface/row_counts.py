"""How many rows a list has: to the last where they are few, and about how many where they are not.

To count a million rows takes longer than to show fifty of them.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.core.paginator import Paginator
from django.db import connection
from django.db.models import QuerySet

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

    @property
    def is_exact(self) -> bool:
        return not (self.is_about or self.is_more)


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


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # only its stub takes one
    """Pages of a list that may be long: no more than `COUNTED` rows are counted and reached."""

    @cached_property
    def rows(self) -> RowCount:
        """How many rows there are."""
        listed: Any = self.object_list
        return count_rows(listed)

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
