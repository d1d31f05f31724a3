"""Progress rates of runs: beside success, over steps, under step limits, and in one score.

Rates are shares in [0, 1] here; pages write them in percent. A run's rates by step say how far
it was after each of its steps: they can fall, since a milestone can be lost again.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from judging.statistics.bootstrap import Floats, bootstrap_interval, divide
from judging.statistics.comparison import Difference, paired_difference
from judging.statistics.figures import Figure, Interval, Reason, Share, Undefined
from judging.statistics.success import TaskMean, mean_pass_at_k, pass_at_k

ALPHA = 0.7
"""Weight of pass@k in the adjusted score, unless chosen otherwise."""


def hidden_progress(
    progress: Sequence[float], success: Sequence[bool], tasks: Sequence[Hashable]
) -> Difference:
    """Mean progress − success rate of the same runs: what a verdict of yes or no hides.

    The interval knows that runs share tasks.

    Source: Ma et al. (2024), AgentBoard, arXiv 2401.13178, for the difference.
    """
    gaps = [rate - won for rate, won in zip(progress, success, strict=True)]
    return paired_difference(gaps, tasks, largest=1)


def reached(by_step: Sequence[float], steps: int) -> float:
    """The highest rate within the first so many steps; 0 before the first."""
    return max(by_step[:steps], default=0.0)


def held(by_step: Sequence[float], steps: int) -> float:
    """The rate after so many steps, or after the last one if there are fewer; 0 before any."""
    return by_step[min(steps, len(by_step)) - 1] if by_step and steps > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AtStep:
    """All runs after so many steps; those that ended earlier stand where they ended."""

    step: int
    reached: float
    held: float
    going: int
    """Runs that took this step."""


def progress_curve(runs: Sequence[Sequence[float]]) -> list[AtStep]:
    """Mean rates over runs after every number of steps, from 0 to that of the longest run.

    Args:
        runs: the rates by step of each run.
    """
    if not runs:
        return []
    longest = max(map(len, runs))
    rates = np.zeros((len(runs), longest + 1))
    lengths = np.fromiter(map(len, runs), dtype=np.intp, count=len(runs))
    for row, by_step in enumerate(runs):
        rates[row, 1 : len(by_step) + 1] = by_step
        rates[row, len(by_step) + 1 :] = by_step[-1] if len(by_step) else 0.0
    highest = np.maximum.accumulate(rates, axis=1).mean(axis=0)
    current = rates.mean(axis=0)
    return [
        AtStep(
            step=step,
            reached=float(highest[step]),
            held=float(current[step]),
            going=int((lengths >= step).sum()),
        )
        for step in range(longest + 1)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class MilestoneMatch:
    """One milestone over the runs of which the judge and people both speak."""

    both: int
    judge_alone: int
    people_alone: int
    neither: int

    @property
    def pairs(self) -> int:
        return self.both + self.judge_alone + self.people_alone + self.neither

    @property
    def precision(self) -> Share:
        """Of the runs that the judge credits with it, those that people tick too."""
        return Share(self.both, self.both + self.judge_alone, Reason.NOTHING_CREDITED)

    @property
    def recall(self) -> Share:
        """Of the runs that people tick, those that the judge credits."""
        return Share(self.both, self.both + self.people_alone, Reason.NOTHING_TICKED)

    @property
    def agreement(self) -> Share:
        """Of all runs, those of which they say the same."""
        return Share(self.both + self.neither, self.pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProgress:
    """The trials of one task. `failures`: progress of those that failed and have a rate."""

    trials: int
    successes: int
    failures: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdjustedScore:
    """The score with what it is made of."""

    k: int
    alpha: float
    pass_at_k: TaskMean
    failure_progress: Figure
    failures: int
    """Failed runs with a rate."""
    value: Figure
    interval: Interval | Undefined


def adjusted(tasks: Sequence[TaskProgress], *, k: int = 1, alpha: float = ALPHA) -> AdjustedScore:
    """α·pass@k + (1 − α)·mean progress of failures, with a bootstrap interval by task.

    pass@k is averaged over tasks with k trials or more, progress over all failed runs. Where
    nothing failed, nothing is missing, and the second part counts as 1; where runs failed of
    which no rate is known, there is no score.
    """
    passed = mean_pass_at_k([(task.trials, task.successes) for task in tasks], k)
    rates = [rate for task in tasks for rate in task.failures]
    if rates:
        progress: Figure = sum(rates) / len(rates)
    elif any(task.trials > task.successes for task in tasks):
        progress = Undefined(Reason.NO_KNOWN_PROGRESS)
    else:
        progress = Undefined(Reason.NO_FAILED_RUNS)
    is_flawless = progress == Undefined(Reason.NO_FAILED_RUNS)
    value = adjusted_score(passed.value, 1.0 if is_flawless else progress, alpha)
    interval: Interval | Undefined
    if isinstance(value, Undefined):
        interval = value
    else:
        interval = bootstrap_interval(_totals(tasks, k), lambda t: _scores(t, alpha), seed=0)
    return AdjustedScore(
        k=k,
        alpha=alpha,
        pass_at_k=passed,
        failure_progress=progress,
        failures=len(rates),
        value=value,
        interval=interval,
    )


def adjusted_score(pass_rate: Figure, failure_progress: Figure, alpha: float = ALPHA) -> Figure:
    """α·pass@k + (1 − α)·mean progress of the failures, both in [0, 1].

    Without any failure there is nothing to add progress for, and the caller passes 1.0.
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha lies between 0 and 1, not at {alpha}")
    if isinstance(pass_rate, Undefined):
        return pass_rate
    if isinstance(failure_progress, Undefined):
        return failure_progress
    if not (0 <= pass_rate <= 1 and 0 <= failure_progress <= 1):
        raise ValueError(f"{pass_rate} and {failure_progress} are not both shares")
    return alpha * pass_rate + (1 - alpha) * failure_progress


def _totals(tasks: Sequence[TaskProgress], k: int) -> Floats:
    """Shape (tasks, 5): pass@k, whether there is one, known progress of failures, their number, and
    that of all failures.
    """
    rows = []
    for task in tasks:
        chance = pass_at_k(task.trials, task.successes, k)
        is_known = not isinstance(chance, Undefined)
        known = float(chance) if not isinstance(chance, Undefined) else 0.0
        failed = task.trials - task.successes
        rows.append([known, is_known, sum(task.failures), len(task.failures), failed])
    return np.asarray(rows, dtype=np.float64).reshape(-1, 5)


def _scores(totals: Floats, alpha: float) -> Floats:
    passed = divide(totals[:, 0], totals[:, 1])
    progress = np.where(totals[:, 4] == 0, 1.0, divide(totals[:, 2], totals[:, 3]))
    return np.asarray(alpha * passed + (1 - alpha) * progress, dtype=np.float64)
