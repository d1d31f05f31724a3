"""How far two shares or two means lie apart, with intervals."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt

from judging.statistics.figures import Figure, Interval, Reason, Undefined
from judging.statistics.proportions import Share
from judging.statistics.success import clustered_mean, mean, mean_interval


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
    differences: Sequence[float],
    tasks: Sequence[Hashable],
    *,
    largest: float = inf,
    level: float = 0.95,
) -> Difference:
    """The mean of what pairs of runs differ by, with an interval that knows that they share tasks.

    mean ± t·SE, SE as `clustered_mean` has it, t with one degree of freedom less than tasks.

    Args:
        largest: no difference is larger, either way, so the interval ends there; 1 for shares.

    Source: Miller (2024), Adding Error Bars to Evals, arXiv 2411.00640, section 4.
    """
    found = clustered_mean(differences, tasks)
    interval = mean_interval(found, low=-largest, high=largest, level=level)
    return Difference(value=found.value, interval=interval)


def mean_difference(
    differences: Sequence[float], *, largest: float = inf, level: float = 0.95
) -> Difference:
    """The mean of one difference a task, with Student's interval: mean ± t·s/√n, n − 1 degrees.

    `largest` is as in `paired_difference`.
    """
    found = mean(differences)
    interval = mean_interval(found, low=-largest, high=largest, level=level)
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
