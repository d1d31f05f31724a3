"""Progress beside success: of each configuration, in each task set, under step limits."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median_low
from typing import NamedTuple

from django.utils.translation import gettext as _

from judging.analysis.experiments.groups import Placed
from judging.analysis.progress.rows import RunRow, Stop
from judging.statistics.figures import Share
from judging.statistics.progress import (
    AdjustedScore,
    AtStep,
    TaskProgress,
    adjusted,
    hidden_progress,
    progress_curve,
    reached,
)
from judging.statistics.success import Mean, clustered_mean

LIMITS = (10, 20, 30, 50)
"""Step limits as the source paper tried them."""


class Progressed:
    """Some runs: how far they got and how many succeeded, over those of which both are known.

    Every standard error knows that runs share tasks.
    """

    def __init__(self, rows: Sequence[RunRow]) -> None:
        known = [(row, row.progress) for row in rows if row.is_decided and row.progress is not None]
        tasks = [row.task for row, _ in known]
        highest = [each.maximum for _, each in known]
        won = [row.is_success for row, _ in known]
        failed = [(each.maximum, row.task) for row, each in known if not row.is_success]
        self.n = len(known)
        self.runs = len(rows)
        """All that count, known or not."""
        self.missing = Counter(row.missing for row in rows if row.missing is not None)
        """Runs without a progress rate, by why."""
        self.undecided = sum(row.progress is not None and not row.is_decided for row in rows)
        """Runs with a rate and without a verdict."""
        self.partial = sum(each.is_partial for _, each in known)
        """Runs of n whose rate is over some of their task's milestones only."""
        self.success = Share(sum(won), self.n)
        self.reached = clustered_mean(highest, tasks)
        self.held = clustered_mean([each.final for _, each in known], tasks)
        self.hidden = hidden_progress(highest, won, tasks)
        self.failures = clustered_mean([rate for rate, _ in failed], [task for _, task in failed])
        """The highest progress of the runs that failed."""


def parts_of(
    rows: Sequence[RunRow], part: Callable[[RunRow], str | None]
) -> dict[str, list[RunRow]]:
    """The rows by their part, in the order of its name; those that have none are left out."""
    found: defaultdict[str, list[RunRow]] = defaultdict(list)
    for row in rows:
        if (name := part(row)) is not None:
            found[name].append(row)
    return dict(sorted(found.items()))


def curve_of(rows: Sequence[RunRow]) -> list[AtStep]:
    """Mean progress after every step of the runs of which progress and verdict are known."""
    return progress_curve([row.progress.by_step for row in rows if row.progress and row.is_decided])


class UnderLimit(NamedTuple):
    """The runs of a configuration under one step limit: cut after it, or carried out under it."""

    limit: int
    reached: Mean
    success: Share
    """Successes that took no more steps."""
    steps: Mean
    ended: int
    """Runs that took more and are cut here, or that the limit ended."""
    unknown: int = 0
    """Runs that their own, lower limit ended: what more steps had brought them nobody knows."""


def at_limits(rows: Sequence[RunRow]) -> list[UnderLimit]:
    """What lower step limits had left of the stored runs, none of them carried out again."""
    known = [(row, row.progress) for row in rows if row.is_decided and row.progress is not None]
    tasks = [row.task for row, _ in known]
    return [
        UnderLimit(
            limit,
            clustered_mean([reached(each.by_step, limit) for _, each in known], tasks),
            Share(sum(row.is_success and row.n_steps <= limit for row, _ in known), len(known)),
            clustered_mean([float(min(row.n_steps, limit)) for row, _ in known], tasks),
            sum(row.n_steps > limit for row, _ in known),
            sum(
                row.stopped_at is not None and row.stopped_at < limit and not row.is_success
                for row, _ in known
            ),
        )
        for limit in LIMITS
    ]


def limit_arms(rows: Sequence[RunRow]) -> list[UnderLimit]:
    """The rows by the limit that they ran under, lowest first; none of them is cut afterwards."""
    by_limit: defaultdict[int, list[RunRow]] = defaultdict(list)
    for row in rows:
        if row.is_known and row.max_steps is not None:
            by_limit[row.max_steps].append(row)
    return [
        UnderLimit(
            limit,
            clustered_mean([each.progress.maximum for each in known if each.progress], tasks),
            Share(sum(each.is_success for each in known), len(known)),
            clustered_mean([float(each.n_steps) for each in known], tasks),
            sum(each.stopped_at is not None for each in known),
        )
        for limit, known in sorted(by_limit.items())
        for tasks in [[each.task for each in known]]
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A milestone that runs did not get past: the first that they never reached."""

    stop: Stop
    task_name: str
    runs: Mapping[int, int]
    """By configuration."""
    of_task: int
    """Runs of the task of which progress and verdict are known."""

    @property
    def share(self) -> Share:
        return Share(sum(self.runs.values()), self.of_task)


def stops_of(rows: Sequence[RunRow]) -> list[Stopped]:
    """The milestones at which runs stopped, most runs first."""
    known = [row for row in rows if row.is_known]
    totals = Counter(row.task for row in known)
    names = {row.task: row.task_name for row in known}
    found: defaultdict[Stop, Counter[int]] = defaultdict(Counter)
    for row in known:
        if row.stop is not None:
            found[row.stop][row.agent] += 1
    stopped = [
        Stopped(stop=stop, task_name=names[stop.task], runs=runs, of_task=totals[stop.task])
        for stop, runs in found.items()
    ]
    return sorted(stopped, key=lambda each: (-each.share.count, each.task_name, each.stop.place))


def score_of(rows: Sequence[RunRow], *, k: int, alpha: float) -> AdjustedScore:
    """The adjusted score; pass@k over all runs with a verdict, progress of failures with a rate."""
    trials: defaultdict[int, list[RunRow]] = defaultdict(list)
    for row in rows:
        if row.is_decided:
            trials[row.task].append(row)
    tasks = [
        TaskProgress(
            trials=len(each),
            successes=sum(row.is_success for row in each),
            failures=[row.progress.maximum for row in each if row.progress and not row.is_success],
        )
        for each in trials.values()
    ]
    return adjusted(tasks, k=k, alpha=alpha)


class Difficulty(StrEnum):
    """What makes a task hard."""

    MILESTONES = "milestones"
    LEVEL = "level"


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """How tasks are split. `above`: tasks with more milestones than that are hard."""

    by: Difficulty
    above: int = 0

    @property
    def rule(self) -> str:
        """The split in words."""
        if self.by is Difficulty.LEVEL:
            return _("Tasks by the level that their source gives them.")
        return _("Hard: tasks with more than %(n)s milestones. Easy: all others that have any.") % {
            "n": self.above
        }


def default_split(rows: Sequence[RunRow]) -> Split:
    """By milestones, at the median over the tasks that have any."""
    counts = {row.task: row.milestones for row in rows if row.milestones}
    return Split(by=Difficulty.MILESTONES, above=median_low(counts.values()) if counts else 0)


def part_of(split: Split, row: RunRow, tasks: Mapping[int, Placed]) -> str | None:
    """The part that the run's task belongs to; None where it has no milestones."""
    if not row.milestones:
        return None
    if split.by is Difficulty.LEVEL:
        return tasks[row.task].level
    return "hard" if row.milestones > split.above else "easy"
