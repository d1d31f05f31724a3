"""Shares of a whole, with their intervals, and rates corrected for an imperfect judge."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from judging.statistics.figures import Figure, Interval, Reason, Undefined, normal_quantile


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `total`, a figure with an interval; `reason` says what an empty total means."""

    count: int
    total: int
    reason: Reason = Reason.NO_RUNS

    def __post_init__(self) -> None:
        if not 0 <= self.count <= self.total:
            raise ValueError(f"{self.count} of {self.total} is no share")

    @property
    def value(self) -> Figure:
        """The share in [0, 1]."""
        return self.count / self.total if self.total else Undefined(self.reason)

    @property
    def interval(self) -> Interval | Undefined:
        """Its 95 % Wilson interval."""
        return wilson_interval(self.count, self.total) if self.total else Undefined(self.reason)


def wilson_interval(count: int, total: int, level: float = 0.95) -> Interval | Undefined:
    """The Wilson score interval of a binomial proportion, without continuity correction.

    (p + z²/2n ± z·sqrt(p(1−p)/n + z²/4n²)) / (1 + z²/n), with p = count/total, n = total.

    Source: Wilson (1927), Journal of the American Statistical Association 22.
    """
    if not 0 <= count <= total:
        raise ValueError(f"{count} of {total} is no share")
    if not total:
        return Undefined(Reason.NO_RUNS)
    z = normal_quantile(level)
    share = count / total
    middle = share + z * z / (2 * total)
    half = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    # At the ends the formula gives 0 and 1 exactly; floating point may miss them by a hair.
    low = 0.0 if count == 0 else max(0.0, (middle - half) / scale)
    high = 1.0 if count == total else min(1.0, (middle + half) / scale)
    return Interval(low=low, high=high, level=level, method="Wilson")


LEAST_INFORMEDNESS = 0.2


def rogan_gladen(
    apparent_rate: float,
    true_positive_rate: Figure,
    true_negative_rate: Figure,
    least_informedness: float = LEAST_INFORMEDNESS,
) -> Figure:
    """The success rate behind an imperfect judge, held within [0, 1].

    (p + TNR − 1) / (TPR + TNR − 1). Undefined where TPR + TNR − 1 is below
    `least_informedness`: there the judge hardly depends on the truth, and the correction
    would blow noise up.

    Source: Rogan and Gladen (1978), American Journal of Epidemiology 107.
    """
    if isinstance(true_positive_rate, Undefined):
        return true_positive_rate
    if isinstance(true_negative_rate, Undefined):
        return true_negative_rate
    informedness = true_positive_rate + true_negative_rate - 1
    if informedness < least_informedness:
        return Undefined(Reason.WEAK_JUDGE)
    return min(1.0, max(0.0, (apparent_rate + true_negative_rate - 1) / informedness))
