"""Percentile bootstrap that resamples whole clusters, for figures made of sums over runs."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from judging.statistics.figures import LEVEL, Interval, Reason, Undefined

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


Statistic = Callable[[Floats], Floats]
"""From totals, shape (resamples, cells), to figures, shape (resamples,); nan where undefined."""

RESAMPLES = 2000
LARGEST_BLOCK = 4_000_000  # weights held at a time: 32 MB
SMALL_BLOCK = 250_000  # draws that are added up at a time, near the processor: 2 MB
FEW_KINDS = 8
"""Clusters that are alike are drawn together once there are so many times fewer kinds of them."""


def totals_by_cluster(cells: Floats, clusters: Sequence[Hashable]) -> Floats:
    """Sums of each cell over the runs of each cluster.

    Args:
        cells: shape (runs, cells): what each run adds to each sum.
        clusters: the cluster (task) of each run.

    Returns:
        Shape (clusters, cells), clusters in order of first appearance.
    """
    if len(clusters) != len(cells):
        raise ValueError(f"{len(cells)} runs, but {len(clusters)} clusters named")
    index: dict[Hashable, int] = {}
    rows = np.fromiter((index.setdefault(each, len(index)) for each in clusters), dtype=np.intp)
    totals = np.zeros((len(index), cells.shape[1]))
    for column, each in enumerate(cells.T):
        totals[:, column] = np.bincount(rows, weights=each, minlength=len(index))
    return totals


def bootstrap_interval(
    totals: Floats, statistic: Statistic, *, seed: int, resamples: int = RESAMPLES
) -> Interval | Undefined:
    """The percentile interval of `statistic` when whole clusters are drawn with replacement.

    Runs of one task are not independent, so the task is what is drawn. The same seed gives the
    same interval. Resamples in which the figure is undefined are left out; where more than half
    are, there is no interval.

    Args:
        totals: shape (clusters, cells), as `totals_by_cluster` gives it.

    Source: Efron and Tibshirani (1993), An Introduction to the Bootstrap, chapter 13;
        Field and Welsh (2007), Journal of the Royal Statistical Society B 69, for clusters.
    """
    drawn = resampled_totals(totals, seed=seed, resamples=resamples)
    if isinstance(drawn, Undefined):
        return drawn
    return percentile_interval(statistic(drawn))


def resampled_totals(
    totals: Floats, *, seed: int, resamples: int = RESAMPLES
) -> Floats | Undefined:
    """Sums over clusters drawn with replacement, shape (resamples, cells).

    For several figures of the same runs at once, each resample being the same for all of them.
    """
    return resampled_kinds(totals, [1] * len(totals), seed=seed, resamples=resamples)


def resampled_kinds(
    kinds: Floats, counts: Sequence[int], *, seed: int, resamples: int = RESAMPLES
) -> Floats | Undefined:
    """The same for clusters of which so many are of each kind.

    Drawing n clusters is drawing how many there are of each kind, which is multinomial: so what
    it takes grows with the kinds where there are few of them.

    Args:
        kinds: shape (kinds, cells): the totals of a cluster of each kind. Neither their order
            nor a kind that comes several times makes a difference.
        counts: clusters of each kind.
    """
    clusters = sum(counts)
    if not clusters:
        return Undefined(Reason.NO_RUNS)
    if clusters == 1:
        return Undefined(Reason.ONE_CLUSTER)
    generator = np.random.default_rng(seed)
    kinds, index = np.unique(kinds, axis=0, return_inverse=True)
    times = np.bincount(index.ravel(), weights=counts).astype(np.intp)
    if len(kinds) * FEW_KINDS <= clusters:
        drawn = generator.multinomial(clusters, times / clusters, size=resamples)
        return np.asarray(drawn @ kinds, dtype=np.float64)
    return _sums_drawn(generator, np.repeat(kinds, times, axis=0), resamples)


def _sums_drawn(generator: np.random.Generator, totals: Floats, resamples: int) -> Floats:
    """Sums over as many clusters as there are, drawn with replacement, shape (resamples, cells)."""
    clusters = len(totals)
    words = PackedColumns.of(totals)
    block = max(1, (LARGEST_BLOCK if words is None else SMALL_BLOCK) // clusters)
    blocks = []
    for start in range(0, resamples, block):
        shape = (min(block, resamples - start), clusters)
        chosen = generator.integers(clusters, size=shape, dtype=np.uint32)
        blocks.append(_times_drawn(chosen) @ totals if words is None else words.sums(chosen))
    return np.concatenate(blocks)


def _times_drawn(chosen: NDArray[np.uint32]) -> Floats:
    """How often each cluster comes up in each resample, shape (resamples, clusters)."""
    size, clusters = chosen.shape
    places = chosen + clusters * np.arange(size)[:, None]
    times = np.bincount(places.ravel(), minlength=size * clusters)
    return times.reshape(size, clusters).astype(np.float64)


def percentile_interval(figures: Floats) -> Interval | Undefined:
    """The middle 95 % of resampled figures, shape (resamples,); nan where undefined."""
    defined = figures[~np.isnan(figures)]
    if len(defined) * 2 < len(figures):
        return Undefined(Reason.NEVER_DEFINED)
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(low=float(low), high=float(high), method="bootstrap by task")


def divide(dividend: Floats, divisor: Floats) -> Floats:
    """Elementwise quotient; nan where the divisor is 0."""
    safe = np.where(divisor == 0, 1.0, divisor)
    return np.where(divisor == 0, np.nan, dividend / safe)
