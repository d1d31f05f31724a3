"""Two evaluators on the same runs: which verdicts flip, and whether chance explains it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judging.statistics.confusion import Cell, cell
from judging.statistics.distributions import binomial_below


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemar:
    """Discordant counts of two evaluators, and the two-sided exact p-value."""

    only_first: int
    """Runs on which the first is right and the second wrong."""
    only_second: int
    p_value: float

    @property
    def told(self) -> float | None:
        """The p-value; None where no pair differs, since there is nothing to test then."""
        return self.p_value if self.only_first or self.only_second else None


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


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given.

    Sorted upwards, the i-th of m becomes max over j ≤ i of (m − j + 1)·p(j), at most 1.

    Source: Holm (1979), Scandinavian Journal of Statistics 6.
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
