"""One condition against the baseline, task by task. Pure: knows neither Django nor the database.

A task counts in a cell once every planned trial of it has a verdict on both sides. Other tasks are
left out whole, with the reason: a trial without a verdict is neither success nor failure, and a
rate over fewer trials would hide it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from judging.statistics.comparison import Difference, mean_difference, scaled

SUCCESS, FAILURE, MISSING = "success", "failure", "missing"
DECIDED = (SUCCESS, FAILURE)


@dataclass(frozen=True)
class Side:
    """The result of each trial of one task, by its number."""

    trials: Mapping[int, str]

    @property
    def successes(self) -> int:
        return sum(standing == SUCCESS for standing in self.trials.values())

    @property
    def decided(self) -> int:
        """Trials with a verdict; errors have none."""
        return sum(standing in DECIDED for standing in self.trials.values())

    def undecided(self, planned: int) -> Counter[str]:
        """Why trials have no verdict: by standing, `missing` where there is no run at all."""
        found = Counter(each for each in self.trials.values() if each not in DECIDED)
        found[MISSING] += max(0, planned - len(self.trials))
        return +found


@dataclass(frozen=True)
class TaskEffect:
    """One task without and with the hint, `planned` trials on each side."""

    task: int
    planned: int
    without: Side
    hinted: Side

    @property
    def undecided(self) -> Counter[str]:
        """Trials of either side that have no verdict, by the reason."""
        return self.without.undecided(self.planned) + self.hinted.undecided(self.planned)

    @property
    def is_complete(self) -> bool:
        return not self.undecided

    @property
    def gained(self) -> int:
        """Successes with the hint minus successes without; negative where it did harm."""
        return self.hinted.successes - self.without.successes

    @property
    def best(self) -> int:
        """The difference in whether any trial succeeded: 1, 0 or −1."""
        return bool(self.hinted.successes) - bool(self.without.successes)


@dataclass(frozen=True)
class Cell:
    """All tasks of one condition."""

    tasks: Sequence[TaskEffect]
    planned: int

    @cached_property
    def complete(self) -> Sequence[TaskEffect]:
        return [each for each in self.tasks if each.is_complete]

    @cached_property
    def left_out(self) -> Sequence[TaskEffect]:
        return [each for each in self.tasks if not each.is_complete]

    @property
    def n(self) -> int:
        """Tasks that count."""
        return len(self.complete)

    @property
    def undecided(self) -> Counter[str]:
        """Trials of the tasks left out that have no verdict, by the reason."""
        return sum((each.undecided for each in self.left_out), Counter[str]())

    @cached_property
    def difference(self) -> Difference:
        """Mean success rate with hints minus without, as a share."""
        # Divided last, so that gains and losses that cancel out give exactly 0.
        found = mean_difference([each.gained for each in self.complete], largest=self.planned)
        return scaled(found, 1 / self.planned)

    @cached_property
    def best(self) -> Difference:
        """The same where a task succeeds as soon as one of its trials does."""
        return mean_difference([each.best for each in self.complete], largest=1.0)

    @property
    def improvements(self) -> int:
        """Successes won: the sum of the tasks' positive differences."""
        return sum(each.gained for each in self.complete if each.gained > 0)

    @property
    def deteriorations(self) -> int:
        """Successes lost: the sum of the tasks' negative differences, as a positive number."""
        return -sum(each.gained for each in self.complete if each.gained < 0)

    @property
    def improved(self) -> int:
        return sum(each.gained > 0 for each in self.complete)

    @property
    def worsened(self) -> int:
        return sum(each.gained < 0 for each in self.complete)

    @property
    def changed(self) -> Sequence[TaskEffect]:
        """Complete tasks that gained or lost something, the largest changes first."""
        return sorted(
            (each for each in self.complete if each.gained), key=lambda each: -abs(each.gained)
        )

    @property
    def unchanged(self) -> Sequence[TaskEffect]:
        """As many successes as before, though of other trials perhaps."""
        return [each for each in self.complete if not each.gained]
