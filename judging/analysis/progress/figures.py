"""Progress beside success: of each configuration, in each task set, under step limits."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from judging.analysis.progress.rows import RunRow, Stop
from judging.analysis.progress.sources import RunProgress
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


def _known(rows: Sequence[RunRow]) -> list[tuple[RunRow, RunProgress]]:
    """Those of which both verdict and progress are known."""
    return [(row, row.progress) for row in rows if row.is_decided and row.progress is not None]


class Progressed:
    """Some runs: how far they got and how many succeeded, over those of which both are known.

    Every standard error knows that runs share tasks.
    """

    def __init__(self, rows: Sequence[RunRow]) -> None:
        known = _known(rows)
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
    known = _known(rows)
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
    by_limit: defaultdict[int, list[tuple[RunRow, RunProgress]]] = defaultdict(list)
    for row, progress in _known(rows):
        if row.max_steps is not None:
            by_limit[row.max_steps].append((row, progress))
    return [
        UnderLimit(
            limit,
            clustered_mean([progress.maximum for _, progress in known], tasks),
            Share(sum(row.is_success for row, _ in known), len(known)),
            clustered_mean([float(row.n_steps) for row, _ in known], tasks),
            sum(row.stopped_at is not None for row, _ in known),
        )
        for limit, known in sorted(by_limit.items())
        for tasks in [[row.task for row, _ in known]]
    ]


class Stopped(NamedTuple):
    """A milestone that runs did not get past: the first that they never reached."""

    stop: Stop
    task_name: str
    runs: Mapping[int, int]
    """By configuration."""
    share: Share
    """Of the task's runs of which progress and verdict are known."""


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
        Stopped(stop, names[stop.task], runs, Share(runs.total(), totals[stop.task]))
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
