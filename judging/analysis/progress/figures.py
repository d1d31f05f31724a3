"""Progress beside success: of each configuration, in each task set, under step limits."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from judging.analysis.progress.rows import RunRow, Stop
from judging.analysis.progress.told import Silence
from judging.statistics.comparison import Difference
from judging.statistics.figures import Interval, Undefined
from judging.statistics.progress import (
    AdjustedScore,
    AtStep,
    TaskProgress,
    adjusted,
    hidden_progress,
    progress_curve,
    reached,
)
from judging.statistics.proportions import Share
from judging.statistics.success import Mean, clustered_mean, mean_interval

LIMITS = (10, 20, 30, 50)
"""Step limits as the source paper tried them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progressed:
    """Some runs: how far they got and how many succeeded, over those of which both are known."""

    runs: int
    """All that count, known or not."""
    silences: Mapping[Silence, int]
    """Runs without a progress rate, by why."""
    undecided: int
    """Runs with a rate and without a verdict."""
    partial: int
    """Runs of n whose rate is over some of their task's milestones only."""
    success: Share
    reached: Mean
    held: Mean
    hidden: Difference
    failures: Mean
    """The highest progress of the runs that failed."""

    @property
    def n(self) -> int:
        return self.success.total

    @property
    def silent(self) -> int:
        return sum(self.silences.values())


def progressed(rows: Sequence[RunRow]) -> Progressed:
    """The figures of these runs; every standard error knows that runs share tasks."""
    known = [(row, row.told) for row in rows if row.is_decided and row.told is not None]
    tasks = [row.task for row, _ in known]
    highest = [told.maximum for _, told in known]
    won = [row.is_success for row, _ in known]
    failed = [(told.maximum, row.task) for row, told in known if not row.is_success]
    return Progressed(
        runs=len(rows),
        silences=Counter(row.silence for row in rows if row.silence is not None),
        undecided=sum(row.told is not None and not row.is_decided for row in rows),
        partial=sum(told.is_partial for _, told in known),
        success=Share(sum(won), len(won)),
        reached=clustered_mean(highest, tasks),
        held=clustered_mean([told.final for _, told in known], tasks),
        hidden=hidden_progress(highest, won, tasks),
        failures=clustered_mean([rate for rate, _ in failed], [task for _, task in failed]),
    )


def rate_interval(mean: Mean) -> Interval | Undefined:
    """The interval of a mean rate, by task, within [0, 1]."""
    return mean_interval(mean, low=0.0, high=1.0)


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
    return progress_curve([row.told.by_step for row in rows if row.told and row.is_decided])


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLimit:
    """The same runs as if each had been stopped after so many steps."""

    limit: int
    reached: Mean
    success: Share
    """Successes that took no more steps."""
    steps: Mean
    """Steps that they would have taken."""
    cut: int
    """Runs that took more, and are cut here."""
    unknown: int
    """Runs that their own, lower limit ended: what more steps had brought them nobody knows."""


def at_limits(rows: Sequence[RunRow], limits: Sequence[int] = LIMITS) -> list[AtLimit]:
    """What lower step limits had left of the stored runs, none of them carried out again."""
    known = [(row, row.told) for row in rows if row.is_decided and row.told is not None]
    tasks = [row.task for row, _ in known]
    return [
        AtLimit(
            limit=limit,
            reached=clustered_mean([reached(told.by_step, limit) for _, told in known], tasks),
            success=Share(
                sum(row.is_success and row.n_steps <= limit for row, _ in known), len(known)
            ),
            steps=clustered_mean([float(min(row.n_steps, limit)) for row, _ in known], tasks),
            cut=sum(row.n_steps > limit for row, _ in known),
            unknown=sum(
                row.stopped_at is not None and row.stopped_at < limit and not row.is_success
                for row, _ in known
            ),
        )
        for limit in limits
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A milestone that runs did not get past: the first that they never reached."""

    stop: Stop
    task_name: str
    runs: Mapping[int, int]
    """By configuration."""
    told: int
    """Runs of the task of which progress and verdict are known."""

    @property
    def share(self) -> Share:
        return Share(sum(self.runs.values()), self.told)


def stops_of(rows: Sequence[RunRow]) -> list[Stopped]:
    """The milestones at which runs stopped, most runs first."""
    known = [row for row in rows if row.is_told]
    of_task = Counter(row.task for row in known)
    names = {row.task: row.task_name for row in known}
    found: defaultdict[Stop, Counter[int]] = defaultdict(Counter)
    for row in known:
        if row.stop is not None:
            found[row.stop][row.agent] += 1
    stopped = [
        Stopped(stop=stop, task_name=names[stop.task], runs=runs, told=of_task[stop.task])
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
            failures=[row.told.maximum for row in each if row.told and not row.is_success],
        )
        for each in trials.values()
    ]
    return adjusted(tasks, k=k, alpha=alpha)


def most_trials(rows: Sequence[RunRow]) -> int:
    """The most trials with a verdict that a configuration has of one task; at least 1."""
    counts = Counter((row.agent, row.task) for row in rows if row.is_decided)
    return max(counts.values(), default=1)
