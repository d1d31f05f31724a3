"""Do two measurements of the same thing correspond? A judge's progress rates against people's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import atanh, sqrt, tanh

import numpy as np

from judging.statistics.figures import Figure, Interval, Reason, Undefined
from webagent.proportions import normal_quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """Pearson's r with its interval. Blind to a constant offset: read it beside the bias."""

    r: Figure
    interval: Interval | Undefined
    pairs: int


def pearson(first: Sequence[float], second: Sequence[float], level: float = 0.95) -> Correlation:
    """Pearson's r with Fisher's interval, tanh(atanh r ± z/√(n − 3)).

    Source: Fisher (1915), Biometrika 10, and (1921), Metron 1.
    """
    x, y = _columns(first, second)
    count = len(x)
    if count < 2:
        reason = Undefined(Reason.TOO_FEW_RUNS if count else Reason.NO_RUNS)
        return Correlation(r=reason, interval=reason, pairs=count)
    x, y = x - x.mean(), y - y.mean()
    spread = sqrt(float(x @ x)) * sqrt(float(y @ y))
    # Sums of squares of nearly constant data are rounding noise, not spread.
    if min(np.ptp(x), np.ptp(y)) <= 1e-12 or spread == 0:
        flat = Undefined(Reason.NO_SPREAD)
        return Correlation(r=flat, interval=flat, pairs=count)
    r = min(1.0, max(-1.0, float(x @ y) / spread))
    if count < 4:
        return Correlation(r=r, interval=Undefined(Reason.TOO_FEW_POINTS), pairs=count)
    if abs(r) == 1:
        low = high = r
    else:
        half = normal_quantile(level) / sqrt(count - 3)
        low, high = tanh(atanh(r) - half), tanh(atanh(r) + half)
    interval = Interval(low=low, high=high, level=level, method="Fisher")
    return Correlation(r=r, interval=interval, pairs=count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """Differences second − first: their mean (bias), mean size (MAE) and 95 % limits."""

    bias: Figure
    mean_absolute_error: Figure
    lower_limit: Figure
    upper_limit: Figure
    pairs: int


def differences(first: Sequence[float], second: Sequence[float]) -> Differences:
    """Bias, mean absolute error and Bland-Altman limits of agreement, bias ± 1.96·s.

    Source: Bland and Altman (1986), The Lancet 327.
    """
    x, y = _columns(first, second)
    gaps = y - x
    count = len(gaps)
    if not count:
        none = Undefined(Reason.NO_RUNS)
        return Differences(
            bias=none, mean_absolute_error=none, lower_limit=none, upper_limit=none, pairs=0
        )
    bias = float(gaps.mean())
    if count == 1:
        lower: Figure = Undefined(Reason.TOO_FEW_RUNS)
        upper: Figure = lower
    else:
        half = normal_quantile(0.95) * float(gaps.std(ddof=1))
        lower, upper = bias - half, bias + half
    return Differences(
        bias=bias,
        mean_absolute_error=float(np.abs(gaps).mean()),
        lower_limit=lower,
        upper_limit=upper,
        pairs=count,
    )


def agreement_rate(
    first: Sequence[float], second: Sequence[float], tolerance: float = 0.0
) -> Figure:
    """Share of pairs that differ by no more than `tolerance`."""
    x, y = _columns(first, second)
    if not len(x):
        return Undefined(Reason.NO_RUNS)
    return float((np.abs(y - x) <= tolerance + 1e-12).mean())


def _columns(
    first: Sequence[float], second: Sequence[float]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values against {len(second)}")
    return np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
