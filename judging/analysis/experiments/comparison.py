"""Two sides held against each other: how far their figures lie apart, and with what certainty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judging.analysis.experiments.figures import figures_of
from judging.analysis.experiments.pairs import By, Cell, Pair, Paired, Pairing, Side, pair_up
from judging.analysis.experiments.sources import Source
from judging.statistics.comparison import Difference, difference_of_shares, paired_difference
from judging.statistics.figures import Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What the paired runs of either side took on the mean, of the pairs where both are known."""

    first: float | None
    second: float | None
    difference: Difference
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two sides under one source."""

    source: Source
    first: Side
    second: Side
    pairing: Pairing
    accuracies: tuple[Share, Share]
    """Over all runs of either side, paired or not."""
    difference: Difference
    """Of these, as if the sides were independent."""
    paired: Difference
    """Of the paired runs."""
    paired_accuracies: tuple[Share, Share]
    seconds: Spending
    cost: Spending
    steps: Spending


def compare(first: Side, second: Side, source: Source, by: By | None = None) -> Comparison:
    """The comparison, in at most six queries, however many runs there are."""
    pairing = pair_up(first, second, source, by)
    accuracies = (_accuracy(first, source), _accuracy(second, source))
    decided = [pair for pair in pairing.pairs if pair.cell is not Cell.NO_VERDICT]
    counts = pairing.counts
    return Comparison(
        source=source,
        first=first,
        second=second,
        pairing=pairing,
        accuracies=accuracies,
        difference=difference_of_shares(*accuracies),
        paired=paired_difference(
            [_gain(pair) for pair in decided],
            [pair.first.task for pair in decided],
            largest=1,
        ),
        paired_accuracies=(
            Share(counts[Cell.BOTH] + counts[Cell.ONLY_FIRST], len(decided)),
            Share(counts[Cell.BOTH] + counts[Cell.ONLY_SECOND], len(decided)),
        ),
        seconds=_spending(pairing, lambda run: run.seconds),
        cost=_spending(pairing, lambda run: run.cost),
        steps=_spending(pairing, lambda run: float(run.steps)),
    )


def _accuracy(side: Side, source: Source) -> Share:
    configurations = figures_of(side.scope, source).configurations
    chosen = [each for each in configurations if side.agent in (None, each.agent)]
    return Share(sum(each.successes for each in chosen), sum(each.decided for each in chosen))


def _gain(pair: Pair) -> float:
    """1 where only the second succeeds, −1 where only the first does."""
    return float(bool(pair.second.success)) - float(bool(pair.first.success))


def _spending(pairing: Pairing, of: Callable[[Paired], float | None]) -> Spending:
    known = [
        (one, two, pair.first.task)
        for pair in pairing.pairs
        if (one := of(pair.first)) is not None and (two := of(pair.second)) is not None
    ]
    return Spending(
        first=_mean([one for one, _, _ in known]),
        second=_mean([two for _, two, _ in known]),
        difference=paired_difference(
            [two - one for one, two, _ in known], [task for _, _, task in known]
        ),
        pairs=len(known),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
