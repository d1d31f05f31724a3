"""What it costs to learn how far a run got: a judge's call beside people's time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

WAGE = 20.0
"""Dollars an hour, unless chosen otherwise: an assumption, and said to be one."""
_HOUR_S = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Dollars per run. None where nothing is known; unknown costs are left out and counted."""

    judged: float | None
    priced: int
    """Runs whose judging has a known cost."""
    runs: int
    kept: int
    """Of these, runs that cost nothing: the reply was there from before."""
    label_seconds: float | None
    median_seconds: float | None
    labels: int
    """Labels with ticks of which the time was measured."""
    labels_per_run: float
    wage: float

    @property
    def label(self) -> float | None:
        """Dollars for one label."""
        return None if self.label_seconds is None else self.label_seconds / _HOUR_S * self.wage

    @property
    def people(self) -> float | None:
        """Dollars for all labels of a run."""
        return None if self.label is None else self.label * self.labels_per_run

    @property
    def times(self) -> float | None:
        """How many times dearer people are; None where either is unknown or the judge is free."""
        return self.people / self.judged if self.people is not None and self.judged else None


def costs_of(
    judged: Sequence[Decimal | None],
    label_seconds: Sequence[float],
    labels_by_run: Sequence[int],
    wage: float,
) -> Costs:
    """The costs of judging these runs, and of the labels of runs.

    Args:
        judged: the cost of each evaluation, None where it is unknown.
        label_seconds: of the labels whose time was measured.
        labels_by_run: how many labels each run has, measured or not.
    """
    known = [float(cost) for cost in judged if cost is not None]
    paid = [cost for cost in known if cost > 0]
    n = len(label_seconds)
    return Costs(
        # Replies kept from before cost nothing again, which says nothing of their price.
        judged=sum(paid) / len(paid) if paid else (0.0 if known else None),
        priced=len(known),
        runs=len(judged),
        kept=len(known) - len(paid),
        label_seconds=sum(label_seconds) / n if n else None,
        median_seconds=median(label_seconds) if n else None,
        labels=n,
        labels_per_run=sum(labels_by_run) / len(labels_by_run) if labels_by_run else 0.0,
        wage=wage,
    )
