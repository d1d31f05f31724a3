"""Comparisons: two evaluators on the same runs, and differences of shares and means."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt

from judging.statistics.confusion import Cell, cell
from judging.statistics.figures import Figure, Interval, Reason, Share, Undefined, binomial_below
from judging.statistics.success import clustered_mean, mean, mean_interval


class PValue(float):
    """A p-value, which papers write otherwise than other numbers: never as 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemar:
    """Discordant counts of two evaluators, and the two-sided exact p-value."""

    only_first: int
    """Runs on which the first is right and the second wrong."""
    only_second: int
    p_value: float

    @property
    def tested_p(self) -> PValue | None:
        """The p-value; None where no pair differs, since there is nothing to test then."""
        return PValue(self.p_value) if self.only_first or self.only_second else None


def mcnemar(only_first: int, only_second: int) -> McNemar:
    """Exact McNemar test; with no discordant runs there is nothing to tell, and p is 1.

    p = min(1, 2·P(X ≤ min(b, c))), X ~ Binomial(b + c, ½).

    Source: McNemar (1947), Psychometrika 12; exact form after Fagerland, Lydersen and Laake
        (2013), BMC Medical Research Methodology 13.
    """
    if min(only_first, only_second) < 0:
        raise ValueError("a count of runs cannot be negative")
    discordant = only_first + only_second
    below = binomial_below(min(only_first, only_second), discordant, 0.5) if discordant else 1.0
    return McNemar(only_first=only_first, only_second=only_second, p_value=min(1.0, 2 * below))


def flips(runs: Iterable[tuple[bool, bool | None, bool | None]]) -> Counter[tuple[Cell, Cell]]:
    """Runs by their cell under the first and under the second evaluator.

    (FN, TP) is a false negative repaired, (TN, FP) a new false positive, and so on; runs that
    stay in their cell are counted under (cell, cell).
    """
    return Counter(
        (cell(succeeded, first), cell(succeeded, second)) for succeeded, first, second in runs
    )


def holm(p_values: Sequence[float]) -> list[PValue]:
    """Holm's adjusted p-values, in the order given.

    Sorted upwards, the i-th of m becomes max over j ≤ i of (m − j + 1)·p(j), at most 1.

    Source: Holm (1979), Scandinavian Journal of Statistics 6.
    """
    adjusted = [PValue(0)] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = PValue(largest)
    return adjusted


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The second minus the first, with an interval where there is one."""

    value: Figure
    interval: Interval | Undefined


def difference_of_shares(first: Share, second: Share) -> Difference:
    """p₂ − p₁ of independent runs, with Newcombe's hybrid of two Wilson intervals.

    Source: Newcombe (1998), Statistics in Medicine 17, method 10.
    """
    one, two = first.value, second.value
    of_first, of_second = first.interval, second.interval
    if isinstance(one, Undefined) or isinstance(of_first, Undefined):
        return Difference(value=Undefined(first.reason), interval=Undefined(first.reason))
    if isinstance(two, Undefined) or isinstance(of_second, Undefined):
        return Difference(value=Undefined(second.reason), interval=Undefined(second.reason))
    low, high = ends_of_difference(one, of_first, two, of_second)
    interval = Interval(low=low, high=high, method="Newcombe")
    return Difference(value=two - one, interval=interval)


def ends_of_difference(
    first: float, of_first: Interval, second: float, of_second: Interval
) -> tuple[float, float]:
    """The ends of the interval of second − first, of two independent estimates with intervals.

    d − sqrt((x₂ − l₂)² + (u₁ − x₁)²), d + sqrt((u₂ − x₂)² + (x₁ − l₁)²). An exact figure has both
    ends where it is.

    Source: Zou and Donner (2008), Statistics in Medicine 27; of shares Newcombe's method 10.
    """
    between = second - first
    low = between - sqrt((second - of_second.low) ** 2 + (of_first.high - first) ** 2)
    high = between + sqrt((of_second.high - second) ** 2 + (first - of_first.low) ** 2)
    return low, high


def paired_difference(
    differences: Sequence[float], tasks: Sequence[Hashable], *, largest: float = inf
) -> Difference:
    """The mean of what pairs of runs differ by, with an interval that knows that they share tasks.

    mean ± t·SE, SE as `clustered_mean` has it, t with one degree of freedom less than tasks.

    Args:
        largest: no difference is larger, either way, so the interval ends there; 1 for shares.

    Source: Miller (2024), Adding Error Bars to Evals, arXiv 2411.00640, section 4.
    """
    found = clustered_mean(differences, tasks)
    interval = mean_interval(found, low=-largest, high=largest)
    return Difference(value=found.value, interval=interval)


def mean_difference(differences: Sequence[float], *, largest: float = inf) -> Difference:
    """The mean of one difference a task, with Student's interval: mean ± t·s/√n, n − 1 degrees.

    `largest` is as in `paired_difference`.
    """
    found = mean(differences)
    interval = mean_interval(found, low=-largest, high=largest)
    if interval == Undefined(Reason.TOO_FEW_RUNS):
        interval = Undefined(Reason.ONE_CLUSTER)
    return Difference(value=found.value, interval=interval)


def scaled(found: Difference, factor: float) -> Difference:
    """The same in another unit, a positive number of times as large."""
    value, ends = found.value, found.interval
    return Difference(
        value=value if isinstance(value, Undefined) else value * factor,
        interval=ends
        if isinstance(ends, Undefined)
        else replace(ends, low=ends.low * factor, high=ends.high * factor),
    )
