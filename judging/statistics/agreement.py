"""Do the labels of several people agree, beyond what chance would give?

Every coefficient here is a function of sums over runs, so one pass over the labels serves the
figure and its bootstrap. Ratings have shape (runs, raters), ragged allowed; None is a missing
label, and a run with fewer than two labels says nothing about agreement.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from judging.statistics.bootstrap import (
    Floats,
    Statistic,
    bootstrap_interval,
    divide,
    totals_by_cluster,
)
from judging.statistics.figures import Figure, Interval, Reason, Undefined

Ratings = Sequence[Sequence[Hashable | None]]
Indices = NDArray[np.intp]


class Coefficient(StrEnum):
    """The ways to put a number on agreement."""

    RAW = "raw"
    KAPPA = "kappa"
    ALPHA = "alpha"
    AC1 = "ac1"


@dataclass(frozen=True, slots=True)
class _Sums:
    """What a run of each kind adds to each sum, which kind each run is of, and the coefficient as
    a function of the sums.
    """

    cells: Floats
    of_run: Indices
    statistic: Statistic


def _kinds(ratings: Ratings) -> tuple[Ratings, Indices]:
    """The different rows of labels, few among many runs, and which of them each run has."""
    index: dict[tuple[Hashable | None, ...], int] = {}
    of_run = [index.setdefault(tuple(row), len(index)) for row in ratings]
    return list(index), np.array(of_run, dtype=np.intp)


def raw_agreement(ratings: Ratings) -> Figure:
    """Mean share of rater pairs that gave the same label, in [0, 1]."""
    return _figure(_raw(ratings))


def pooled_kappa(ratings: Ratings) -> Figure:
    """One kappa for any number of raters who each saw some of the runs: over all their pairs.

    (A − E) / (N − E) over pairs of raters on the runs that both labelled: N = Σ n of a pair,
    A = Σ of its runs with the same label, E = Σ n·pe with pe of Cohen's kappa, from how often each
    of the two gives each label on these runs. So a pair counts by its runs, and a pair that gave
    but one label leaves the figure defined. Cohen's kappa where there are two raters, Conger's
    where each labelled every run. Undefined where all gave one and the same label throughout.

    Args:
        ratings: shape (runs, raters), a column a rater.

    Raises:
        ValueError: rows have different lengths.

    Source: Cohen (1960), Educational and Psychological Measurement 20; Conger (1980),
        Psychological Bulletin 88; pooling by observed and expected agreement: De Vries, Elliott,
        Kanouse and Teleki (2008), Field Methods 20.
    """
    return _figure(_kappa(ratings))


def krippendorff_alpha(ratings: Ratings) -> Figure:
    """Krippendorff's alpha for nominal labels, any number of raters, missing labels allowed.

    1 − Do/De from the coincidence matrix o(c,k), where a run with m labels adds 1/(m−1) for
    every ordered pair of labels: Do = Σ_{c≠k} o(c,k), De = Σ_{c≠k} n(c)·n(k) / (n − 1).
    Undefined where all labels are the same.

    Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability.
    """
    return _figure(_alpha(ratings))


def gwet_ac1(ratings: Ratings, categories: Sequence[Hashable] | None = None) -> Figure:
    """Gwet's AC1, any number of raters, missing labels allowed. Steady where one class prevails.

    (pa − pe) / (1 − pe), pe = Σ_c π(c)(1 − π(c)) / (q − 1), with π(c) the mean share of label c
    in a run and q the number of categories.

    Args:
        categories: all labels that could have been given; those that occur by default, and then
            a single one leaves the figure undefined.

    Source: Gwet (2008), British Journal of Mathematical and Statistical Psychology 61.
    """
    return _figure(_ac1(ratings, categories))


def agreement_interval(
    coefficient: Coefficient,
    ratings: Ratings,
    clusters: Sequence[Hashable],
    *,
    seed: int,
    categories: Sequence[Hashable] | None = None,
) -> Interval | Undefined:
    """Bootstrap interval of a coefficient, whole tasks resampled.

    Args:
        clusters: the task of each run.
        categories: as for `gwet_ac1`.
    """
    if coefficient is Coefficient.AC1:
        sums = _ac1(ratings, categories)
    else:
        by_name = {Coefficient.RAW: _raw, Coefficient.KAPPA: _kappa, Coefficient.ALPHA: _alpha}
        sums = by_name[coefficient](ratings)
    if isinstance(sums, Undefined):
        return sums
    totals = totals_by_cluster(sums.cells[sums.of_run], clusters)
    return bootstrap_interval(totals, sums.statistic, seed=seed)


def _figure(sums: _Sums | Undefined) -> Figure:
    if isinstance(sums, Undefined):
        return sums
    runs = np.bincount(sums.of_run, minlength=len(sums.cells))
    value = float(sums.statistic(runs[None, :] @ sums.cells)[0])
    return Undefined(Reason.ONE_CLASS) if np.isnan(value) else value


def _counts(ratings: Ratings) -> tuple[Floats, list[Hashable]]:
    """Labels given per row and category, shape (rows, categories)."""
    present = [[label for label in row if label is not None] for row in ratings]
    labels = list(dict.fromkeys(label for row in present for label in row))
    index = {label: column for column, label in enumerate(labels)}
    counts = np.zeros((len(present), len(labels)))
    for row, given in enumerate(present):
        for label, times in Counter(given).items():
            counts[row, index[label]] = times
    return counts, labels


def _agreeing(counts: Floats) -> tuple[Floats, Floats]:
    """Per row: share of agreeing rater pairs, and 1 where the row has two labels at all."""
    given = counts.sum(axis=1)
    paired = (given >= 2).astype(np.float64)
    share = divide((counts * (counts - 1)).sum(axis=1), given * (given - 1))
    return np.nan_to_num(share), paired


def _raw(ratings: Ratings) -> _Sums | Undefined:
    rows, of_run = _kinds(ratings)
    share, paired = _agreeing(_counts(rows)[0])
    if not paired.any():
        return Undefined(Reason.NO_PAIRS)
    return _Sums(np.column_stack([share, paired]), of_run, lambda s: divide(s[:, 0], s[:, 1]))


def _kappa(ratings: Ratings) -> _Sums | Undefined:
    """From the table of each pair of raters: runs by what the one said and what the other."""
    rows, of_run = _kinds(ratings)
    if len({len(row) for row in rows}) > 1:
        raise ValueError("kappa takes a column a rater")
    labels = dict.fromkeys(label for row in rows for label in row if label is not None)
    index = {label: place for place, label in enumerate(labels)}
    size = len(labels)
    pairs: dict[tuple[int, int], int] = {}
    given = []
    for number, row in enumerate(rows):
        seen = [(rater, index[label]) for rater, label in enumerate(row) if label is not None]
        for (one, first), (other, second) in combinations(seen, 2):
            given.append((number, pairs.setdefault((one, other), len(pairs)), first, second))
    if not pairs:
        return Undefined(Reason.NO_PAIRS)
    cells = np.zeros((len(rows), len(pairs), size, size))
    for place in given:
        cells[place] = 1

    def kappa(sums: Floats) -> Floats:
        tables = sums.reshape(-1, len(pairs), size, size)
        runs = tables.sum(axis=(2, 3))
        agreeing = np.trace(tables, axis1=2, axis2=3).sum(axis=1)
        # Products before quotients: counts stay whole numbers, so one class gives exactly 0.
        products = (tables.sum(axis=3) * tables.sum(axis=2)).sum(axis=2)
        chance = np.nan_to_num(divide(products, runs)).sum(axis=1)
        return divide(agreeing - chance, runs.sum(axis=1) - chance)

    return _Sums(cells.reshape(len(cells), -1), of_run, kappa)


def _alpha(ratings: Ratings) -> _Sums | Undefined:
    rows, of_run = _kinds(ratings)
    counts, labels = _counts(rows)
    given = counts.sum(axis=1)
    paired = given >= 2
    if not paired.any():
        return Undefined(Reason.NO_PAIRS)
    counts = np.where(paired[:, None], counts, 0.0)
    others = np.where(paired, given - 1, 1.0)
    disagreeing = (counts.sum(axis=1) ** 2 - (counts**2).sum(axis=1)) / others
    size = len(labels)

    def alpha(sums: Floats) -> Floats:
        frequency = sums[:, :size]
        whole = frequency.sum(axis=1)
        expected = divide(whole**2 - (frequency**2).sum(axis=1), whole - 1)
        return 1 - divide(sums[:, size], expected)

    return _Sums(np.column_stack([counts, disagreeing]), of_run, alpha)


def _ac1(ratings: Ratings, categories: Sequence[Hashable] | None) -> _Sums | Undefined:
    rows, of_run = _kinds(ratings)
    counts, labels = _counts(rows)
    if categories is not None and not set(labels) <= set(categories):
        raise ValueError("a label is none of the categories")
    share, paired = _agreeing(counts)
    if not paired.any():
        return Undefined(Reason.NO_PAIRS)
    size = len(labels) if categories is None else len(set(categories))
    if size < 2:
        return Undefined(Reason.ONE_CLASS)
    given = counts.sum(axis=1, keepdims=True)
    rated = (given[:, 0] >= 1).astype(np.float64)
    shares = np.nan_to_num(divide(counts, np.broadcast_to(given, counts.shape)))

    def ac1(sums: Floats) -> Floats:
        observed = divide(sums[:, 0], sums[:, 1])
        usual = divide(sums[:, 3:], np.broadcast_to(sums[:, 2:3], sums[:, 3:].shape))
        chance = (usual * (1 - usual)).sum(axis=1) / (size - 1)
        return divide(observed - chance, 1 - chance)

    return _Sums(np.column_stack([share, paired, rated, shares]), of_run, ac1)
