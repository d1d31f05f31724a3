"""Lists made of parts, one after another, each with an order of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Generic, TypeVar, overload

from django.db.models import Model, QuerySet

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
