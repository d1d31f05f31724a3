"""Do two measurements of the same thing correspond? A judge's progress rates against people's."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import atanh, inf, sqrt, tanh

import numpy as np

from judging.statistics.figures import (
    LEVEL,
    Figure,
    Interval,
    Reason,
    Share,
    Undefined,
    student_quantile,
)
from webagent.measures import normal_quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """Pearson's r with its interval. Blind to a constant offset: read it beside the bias."""

    r: Figure
    interval: Interval | Undefined
    pairs: int


def pearson(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """Pearson's r with Fisher's interval, tanh(atanh r ± z/√(n − 3)).

    Source: Fisher (1915), Biometrika 10, and (1921), Metron 1.
    """
    x, y = _columns(first, second)
    count = len(x)
    if count < 2:
        return _without_r(Reason.TOO_FEW_RUNS if count else Reason.NO_RUNS, count)
    x, y = x - x.mean(), y - y.mean()
    spread = sqrt(float(x @ x)) * sqrt(float(y @ y))
    # Sums of squares of nearly constant data are rounding noise, not spread.
    if min(np.ptp(x), np.ptp(y)) <= 1e-12 or spread == 0:
        return _without_r(Reason.NO_SPREAD, count)
    r = min(1.0, max(-1.0, float(x @ y) / spread))
    return _with_interval(r, count, count - 3)


def _without_r(reason: Reason, pairs: int) -> Correlation:
    return Correlation(r=Undefined(reason), interval=Undefined(reason), pairs=pairs)


def _with_interval(r: float, pairs: int, weight: float) -> Correlation:
    """The correlation with tanh(atanh r ± z/√weight); none of fewer than four pairs."""
    if pairs < 4:
        return Correlation(r=r, interval=Undefined(Reason.TOO_FEW_POINTS), pairs=pairs)
    if abs(r) == 1:
        low = high = r
    else:
        half = normal_quantile(LEVEL) / sqrt(weight)
        low, high = tanh(atanh(r) - half), tanh(atanh(r) + half)
    interval = Interval(low=low, high=high, method="Fisher")
    return Correlation(r=r, interval=interval, pairs=pairs)


def intraclass(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """The correlation of pairs in which neither comes first: the same whoever is named first.

    r = 2·Σ(x − m)(y − m) / Σ((x − m)² + (y − m)²), m the mean of all values; its interval is
    tanh(atanh r ± z/√(n − 3/2)).

    Source: Fisher (1925), Statistical Methods for Research Workers, chapter VII.
    """
    x, y = _columns(first, second)
    count = len(x)
    if count < 2:
        return _without_r(Reason.TOO_FEW_RUNS if count else Reason.NO_RUNS, count)
    centre = (x.mean() + y.mean()) / 2
    x, y = x - centre, y - centre
    spread = float(x @ x + y @ y)
    if spread <= 1e-20:
        return _without_r(Reason.NO_SPREAD, count)
    r = min(1.0, max(-1.0, 2 * float(x @ y) / spread))
    return _with_interval(r, count, count - 1.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Differences second − first: their mean (bias), mean size (MAE) and 95 % limits.

    The bias with its 95 % interval, pairs taken as independent.
    """

    bias: Figure
    bias_interval: Interval | Undefined
    mean_absolute_error: Figure
    lower_limit: Figure
    upper_limit: Figure
    pairs: int


def differences(
    first: Sequence[float], second: Sequence[float], *, largest: float = inf
) -> Differences:
    """Bias, mean absolute error and Bland-Altman limits of agreement, bias ± 1.96·s.

    The bias's interval by Student's t with n − 1 degrees of freedom: bias ± t·s/√n.

    Args:
        largest: no difference is larger, either way, so the bias's interval ends there. Limits of
            agreement are no differences that occur, and may lie beyond.

    Source: Bland and Altman (1986), The Lancet 327.
    """
    x, y = _columns(first, second)
    gaps = y - x
    count = len(gaps)
    if count < 2:
        none = _undefined(Reason.TOO_FEW_RUNS if count else Reason.NO_RUNS, count)
        gap = float(gaps.sum())
        return replace(none, bias=gap, mean_absolute_error=abs(gap)) if count else none
    bias, spread = float(gaps.mean()), float(gaps.std(ddof=1))
    half = normal_quantile(LEVEL) * spread
    error = student_quantile(LEVEL, count - 1) * spread / sqrt(count)
    return Differences(
        bias=bias,
        bias_interval=Interval(
            low=max(-largest, bias - error), high=min(largest, bias + error), method="Student"
        ),
        mean_absolute_error=float(np.abs(gaps).mean()),
        lower_limit=bias - half,
        upper_limit=bias + half,
        pairs=count,
    )


def differences_of_equals(first: Sequence[float], second: Sequence[float]) -> Differences:
    """The same of pairs in which neither comes first: no bias, and limits around 0.

    Limits ±1.96·s, s² = Σ(y − x)²/n.

    Source: Bland and Altman (1999), Statistical Methods in Medical Research 8, on repeatability.
    """
    x, y = _columns(first, second)
    count = len(x)
    if not count:
        return _undefined(Reason.NO_RUNS, 0)
    gaps = y - x
    limit = normal_quantile(LEVEL) * sqrt(float(gaps @ gaps) / count)
    return replace(
        _undefined(Reason.NO_ORDER, count),
        mean_absolute_error=float(np.abs(gaps).mean()),
        lower_limit=-limit,
        upper_limit=limit,
    )


def _undefined(reason: Reason, pairs: int) -> Differences:
    none = Undefined(reason)
    return Differences(
        bias=none,
        bias_interval=none,
        mean_absolute_error=none,
        lower_limit=none,
        upper_limit=none,
        pairs=pairs,
    )


def agreement(first: Sequence[float], second: Sequence[float], tolerance: float = 0.0) -> Share:
    """Pairs that differ by no more than `tolerance`, in the unit of the values.

    Raises:
        ValueError: the tolerance is negative.
    """
    if tolerance < 0:
        raise ValueError(f"a tolerance is not negative: {tolerance}")
    x, y = _columns(first, second)
    # What two binary fractions miss each other by is no difference.
    within = np.abs(y - x) <= tolerance + 1e-9
    return Share(int(within.sum()), len(x))


def _columns(
    first: Sequence[float], second: Sequence[float]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values against {len(second)}")
    return np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
