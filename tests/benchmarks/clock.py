"""Medians and ratios."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median


def seconds(work: Callable[[], object], times: int = 5) -> float:
    """Median length of the work, after one go that does not count."""
    work()
    lengths = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        lengths.append(time.perf_counter() - start)
    return median(lengths)


def tell(what: str, ours: float, bare: float, unit: str = "s") -> None:
    """One line: ours, the bare work, and how many times longer ours takes."""
    sys.stdout.write(
        f"{what}: {ours:.4g} {unit}, bare {bare:.4g} {unit}, ratio {ours / bare:.1f}\n"
    )
