"""How far two shares or two means lie apart, with intervals."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from scipy.special import stdtrit

from judging.statistics.figures import Figure, Interval, Reason, Undefined
from judging.statistics.proportions import Share
from judging.statistics.success import clustered_mean, mean
from webagent.proportions import normal_quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The second minus the first, with an interval where there is one."""

    value: Figure
    interval: Interval | Undefined


def difference_of_shares(first: Share, second: Share, level: float = 0.95) -> Difference:
    """p₂ − p₁ of independent runs, with Newcombe's hybrid of two Wilson intervals.

    low = d − sqrt((p₂ − l₂)² + (u₁ − p₁)²), high = d + sqrt((u₂ − p₂)² + (p₁ − l₁)²).

    Source: Newcombe (1998), Statistics in Medicine 17, method 10.
    """
    one, two = first.value, second.value
    of_first, of_second = first.interval, second.interval
    if isinstance(one, Undefined) or isinstance(of_first, Undefined):
        return Difference(value=Undefined(first.reason), interval=Undefined(first.reason))
    if isinstance(two, Undefined) or isinstance(of_second, Undefined):
        return Difference(value=Undefined(second.reason), interval=Undefined(second.reason))
    between = two - one
    low = between - sqrt((two - of_second.low) ** 2 + (of_first.high - one) ** 2)
    high = between + sqrt((of_second.high - two) ** 2 + (one - of_first.low) ** 2)
    return Difference(
        value=between, interval=Interval(low=low, high=high, level=level, method="Newcombe")
    )


def paired_difference(
    differences: Sequence[float], tasks: Sequence[Hashable], level: float = 0.95
) -> Difference:
    """The mean of what pairs of runs differ by, the standard error clustered by task.

    mean ± z·SE, SE as `clustered_mean` has it.

    Source: Miller (2024), Adding Error Bars to Evals, arXiv 2411.00640, section 4.
    """
    found = clustered_mean(differences, tasks)
    if isinstance(found.value, Undefined):
        return Difference(value=found.value, interval=found.value)
    if isinstance(found.standard_error, Undefined):
        return Difference(value=found.value, interval=found.standard_error)
    half = normal_quantile(level) * found.standard_error
    interval = Interval(
        low=found.value - half, high=found.value + half, level=level, method="paired, by task"
    )
    return Difference(value=found.value, interval=interval)


def mean_difference(differences: Sequence[float], level: float = 0.95) -> Difference:
    """The mean of one difference a task, with Student's interval: mean ± t·s/√n, n − 1 degrees.

    For few tasks it is wider than the normal one. Where all differences are equal it has no width.
    """
    found = mean(differences)
    if isinstance(found.value, Undefined):
        return Difference(value=found.value, interval=found.value)
    if isinstance(found.standard_error, Undefined):
        return Difference(value=found.value, interval=Undefined(Reason.ONE_CLUSTER))
    quantile = float(stdtrit(len(differences) - 1, (1 + level) / 2))
    half = quantile * found.standard_error
    interval = Interval(
        low=found.value - half, high=found.value + half, level=level, method="Student, by task"
    )
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


def within_bounds(found: Difference, low: float = -1.0, high: float = 1.0) -> Difference:
    """The same with an interval that ends where the figure itself must; −1 to 1 for shares."""
    ends = found.interval
    if isinstance(ends, Undefined):
        return found
    return replace(found, interval=replace(ends, low=max(low, ends.low), high=min(high, ends.high)))
