"""The two distributions that closed forms do not give."""

from __future__ import annotations


def student_quantile(level: float, degrees: int) -> float:
    """How many standard errors to either side hold the middle `level` of Student's t."""
    # SciPy takes as much memory as a tenth of a web process, and few pages ask for it.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2))


def binomial_below(most: int, trials: int, share: float) -> float:
    """How likely at most so many of the trials succeed, each with this probability."""
    from scipy.special import bdtr

    return float(bdtr(most, trials, share))
