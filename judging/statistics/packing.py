"""Columns of whole numbers added up several at a time, in one machine word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

WORD_BITS = 62
Floats = NDArray[np.float64]
Words = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PackedColumns:
    """Rows of counts whose columns lie side by side in the bits of a few numbers.

    Each has room for the largest sum of as many rows as there are, so no sum runs into another,
    and adding up one number adds up all columns in it.
    """

    n_columns: int
    words: Sequence[tuple[Words, Sequence[tuple[int, int, int]]]]
    """Each with its columns: their place, their first bit, and how many bits they have."""

    @classmethod
    def of(cls, rows: Floats) -> Self | None:
        """The rows packed; None where a value is no whole number or too large for that."""
        if rows.size == 0 or rows.min() < 0 or not np.array_equal(rows, np.rint(rows)):
            return None
        bits = [int(largest * len(rows)).bit_length() for largest in rows.max(axis=0)]
        if max(bits) > WORD_BITS:
            return None
        groups: list[list[tuple[int, int, int]]] = [[]]
        end = 0
        for column, needed in enumerate(bits):
            if end + needed > WORD_BITS:
                groups.append([])
                end = 0
            groups[-1].append((column, end, needed))
            end += needed
        whole = rows.astype(np.int64)
        return cls(len(bits), [(_word(whole, group), group) for group in groups])

    def sums(self, chosen: NDArray[np.uint32]) -> Floats:
        """Sums of each column over the chosen rows, shape (draws, columns).

        Args:
            chosen: shape (draws, as many as there are rows): numbers of rows.
        """
        found = np.zeros((len(chosen), self.n_columns))
        for word, columns in self.words:
            whole = np.take(word, chosen).sum(axis=1)
            for column, first_bit, bits in columns:
                found[:, column] = (whole >> first_bit) & ((1 << bits) - 1)
        return found


def _word(rows: Words, columns: Sequence[tuple[int, int, int]]) -> Words:
    word = np.zeros(len(rows), dtype=np.int64)
    for column, first_bit, _bits in columns:
        word |= rows[:, column] << first_bit
    return word
