"""Easy and hard tasks: by how many milestones they have, or by the level their source names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median_low

from django.utils.translation import gettext as _

from judging.analysis.experiments.groups import Placed
from judging.analysis.progress.rows import RunRow


class By(StrEnum):
    """What makes a task hard."""

    MILESTONES = "milestones"
    LEVEL = "level"


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """How tasks are split. `above`: tasks with more milestones than that are hard."""

    by: By
    above: int = 0

    @property
    def rule(self) -> str:
        """The split in words."""
        if self.by is By.LEVEL:
            return _("Tasks by the level that their source gives them.")
        return _("Hard: tasks with more than %(n)s milestones. Easy: all others that have any.") % {
            "n": self.above
        }


def default_split(rows: Sequence[RunRow]) -> Split:
    """By milestones, at the median over the tasks that have any."""
    counts = {row.task: row.milestones for row in rows if row.milestones}
    return Split(by=By.MILESTONES, above=median_low(counts.values()) if counts else 0)


def part_of(split: Split, row: RunRow, tasks: Mapping[int, Placed]) -> str | None:
    """The part that the run's task belongs to; None where it has no milestones."""
    if not row.milestones:
        return None
    if split.by is By.LEVEL:
        return tasks[row.task].level
    return "hard" if row.milestones > split.above else "easy"
