"""Intervals of shares, for whoever counts: pure, and shared by all parts of the project."""

from math import sqrt
from statistics import NormalDist


def normal_quantile(level: float) -> float:
    """Half-width in standard deviations that holds `level` of a normal distribution (1.96: 95 %).

    Raises:
        ValueError: level is not strictly between 0 and 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, not at {level}")
    return NormalDist().inv_cdf((1 + level) / 2)


def wilson_bounds(count: int, total: int, level: float = 0.95) -> tuple[float, float]:
    """Low and high end of the Wilson score interval, without continuity correction.

    (p + z²/2n ± z·sqrt(p(1−p)/n + z²/4n²)) / (1 + z²/n), with p = count/total, n = total.

    Raises:
        ValueError: `count` of `total` is no share, or there is nothing to take a share of.

    Source: Wilson (1927), Journal of the American Statistical Association 22.
    """
    if not 0 <= count <= total or not total:
        raise ValueError(f"{count} of {total} is no share")
    z = normal_quantile(level)
    share = count / total
    middle = share + z * z / (2 * total)
    half = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    # At the ends the formula gives 0 and 1 exactly; floating point may miss them by a hair.
    low = 0.0 if count == 0 else max(0.0, (middle - half) / scale)
    high = 1.0 if count == total else min(1.0, (middle + half) / scale)
    return low, high
