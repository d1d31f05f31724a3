"""What a gate is given: trials of tasks on two sides, with those that say nothing named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from judging.statistics.figures import Undefined
from judging.statistics.success import pass_at_k


class Metric(StrEnum):
    """What is compared: all lie between 0 and 1 for a task."""

    PROGRESS = "progress"
    SUCCESS = "success"
    PASS_AT_K = "pass_at_k"  # noqa: S105


TaskKey = tuple[str, str]
"""The name of a task set and of a task in it: the same in every version of the set."""


@dataclass(frozen=True, slots=True)
class Trials:
    """The trials of one task on one side: those with a value, and why the others have none."""

    values: tuple[float, ...] = ()
    """Successes as 1 and failures as 0; for progress shares of 1."""
    silent: Mapping[str, int] = field(default_factory=Counter)
    """Trials without a value by the reason, such as `ended in an error`."""
    partial: int = 0
    """Values that are over some of the task's milestones only: the others could not be told."""

    @property
    def all(self) -> int:
        return len(self.values) + sum(self.silent.values())

    def score(self, metric: Metric, k: int) -> float | None:
        """The task's score; None where too few trials have a value."""
        if metric is Metric.PASS_AT_K:
            found = pass_at_k(len(self.values), sum(value > 0 for value in self.values), k)
            return None if isinstance(found, Undefined) else found
        return sum(self.values) / len(self.values) if self.values else None


NOTHING = Trials()
Side = Mapping[TaskKey, Trials]


def largest_k(baseline: Side, candidate: Side) -> int:
    """The most trials with a value that some task has on both sides; at least 1."""
    on_both = (
        min(len(baseline[task].values), len(candidate[task].values))
        for task in baseline.keys() & candidate.keys()
    )
    return max(1, max(on_both, default=1))
