"""How well an agent does: means with standard errors, and repeated trials."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import comb, inf, sqrt

import numpy as np

from judging.statistics.bootstrap import totals_by_cluster
from judging.statistics.figures import LEVEL, Figure, Interval, Reason, Undefined, student_quantile

ROUNDING = 1e-12
"""A standard error below it is what floating numbers miss 0 by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean with its standard error; `clusters` is None where runs count as independent."""

    value: Figure
    standard_error: Figure
    runs: int
    clusters: int | None = None


NO_RUNS = Undefined(Reason.NO_RUNS)


def success_rate(successes: int, runs: int) -> Mean:
    """Share of successes among single trials; SE = sqrt(p(1 − p)/n)."""
    if not 0 <= successes <= runs:
        raise ValueError(f"{successes} of {runs} is no share")
    if not runs:
        return Mean(value=NO_RUNS, standard_error=NO_RUNS, runs=0)
    rate = successes / runs
    return Mean(value=rate, standard_error=sqrt(rate * (1 - rate) / runs), runs=runs)


def mean(values: Sequence[float]) -> Mean:
    """Mean of independent values; SE = s/√n with the sample's standard deviation s (n − 1).

    Independence is what makes it right: for several trials of a task see `clustered_mean`.
    """
    count = len(values)
    if not count:
        return Mean(value=NO_RUNS, standard_error=NO_RUNS, runs=0)
    array = np.asarray(values, dtype=np.float64)
    if count == 1:
        return Mean(value=float(array[0]), standard_error=Undefined(Reason.TOO_FEW_RUNS), runs=1)
    error = float(array.std(ddof=1)) / sqrt(count)
    return Mean(value=float(array.mean()), standard_error=error, runs=count)


def clustered_mean(values: Sequence[float], tasks: Sequence[Hashable]) -> Mean:
    """Mean over all runs, with a standard error that knows that runs share tasks.

    SE² = G/(G − 1) · Σ_g (Σ_{i in g} (x_i − x̄))² / n², G tasks, n runs: the cluster-robust
    variance of an intercept.

    Source: Miller (2024), Adding Error Bars to Evals, arXiv 2411.00640; small-sample factor as
        in Cameron and Miller (2015), Journal of Human Resources 50.
    """
    count = len(values)
    if not count:
        return Mean(value=NO_RUNS, standard_error=NO_RUNS, runs=0, clusters=0)
    array = np.asarray(values, dtype=np.float64)
    centre = float(array.mean())
    totals = totals_by_cluster((array - centre)[:, None], tasks)
    groups = len(totals)
    if groups == 1:
        error: Figure = Undefined(Reason.ONE_CLUSTER)
    else:
        error = sqrt(groups / (groups - 1) * float((totals**2).sum())) / count
    return Mean(value=centre, standard_error=error, runs=count, clusters=groups)


def mean_interval(found: Mean, *, low: float = -inf, high: float = inf) -> Interval | Undefined:
    """mean ± t·SE, t with one degree of freedom less than there are clusters (or runs).

    There is none where all are alike: an interval without width would claim certainty.

    Args:
        low: no mean can lie below it, so neither does the interval; `high` likewise.

    Source: Cameron and Miller (2015), Journal of Human Resources 50, section VI, for G − 1.
    """
    if isinstance(found.value, Undefined):
        return found.value
    if isinstance(found.standard_error, Undefined):
        return found.standard_error
    if found.standard_error < ROUNDING:
        return Undefined(Reason.ALL_ALIKE)
    groups = found.runs if found.clusters is None else found.clusters
    half = student_quantile(LEVEL, groups - 1) * found.standard_error
    return Interval(
        low=float(max(low, found.value - half)),
        high=float(min(high, found.value + half)),
        method="Student" if found.clusters is None else "Student, by task",
    )


def clustered_rate(trials: Sequence[tuple[int, int]]) -> Mean:
    """`clustered_mean` of successes and failures, from (trials, successes) of each task.

    SE² = G/(G − 1) · Σ_g (c_g − n_g·p)² / n², p = Σ c_g / n, n = Σ n_g.
    """
    groups = [(n, c) for n, c in trials if n]
    runs = sum(n for n, _ in groups)
    if not runs:
        return Mean(value=NO_RUNS, standard_error=NO_RUNS, runs=0, clusters=0)
    rate = sum(c for _, c in groups) / runs
    error: Figure = Undefined(Reason.ONE_CLUSTER)
    if len(groups) > 1:
        spread = sum((c - n * rate) ** 2 for n, c in groups)
        error = sqrt(len(groups) / (len(groups) - 1) * spread) / runs
    return Mean(value=rate, standard_error=error, runs=runs, clusters=len(groups))


def pass_at_k(trials: int, successes: int, k: int) -> Figure:
    """Chance that at least one of k trials of a task succeeds, estimated without bias.

    1 − C(n − c, k)/C(n, k) for c successes in n trials.

    Source: Chen et al. (2021), Evaluating Large Language Models Trained on Code, 2107.03374.
    """
    _check_trials(trials, successes, k)
    if trials < k:
        return Undefined(Reason.TOO_FEW_TRIALS)
    return 1 - comb(trials - successes, k) / comb(trials, k)


def pass_hat_k(trials: int, successes: int, k: int) -> Figure:
    """Chance that all of k trials of a task succeed (pass^k), estimated without bias.

    C(c, k)/C(n, k) for c successes in n trials.

    Source: Yao et al. (2024), τ-bench, arXiv 2406.12045.
    """
    _check_trials(trials, successes, k)
    if trials < k:
        return Undefined(Reason.TOO_FEW_TRIALS)
    return comb(successes, k) / comb(trials, k)


@dataclass(frozen=True, slots=True, kw_only=True)
class Picked:
    """Trials of one task by what a selector says of them, and successes among either kind."""

    passed: int
    passed_successes: int
    other: int
    other_successes: int

    @property
    def trials(self) -> int:
        return self.passed + self.other


def best_of_k(task: Picked, k: int) -> Figure:
    """Chance that the trial picked out of k succeeds, over all ways of drawing k of n trials.

    The selector picks at random among the drawn trials that it passes, among all of them where
    it passes none: q = C(f, k)/C(n, k) is the chance of that, f trials not passed, and the figure
    (1 − q)·a/p + q·b/f, with a successes among the p passed and b among the f others. A selector
    that passes exactly the successes gives `pass_at_k`.
    """
    if task.trials < k:
        return Undefined(Reason.TOO_FEW_TRIALS)
    _check_trials(task.passed, task.passed_successes, k)
    _check_trials(task.other, task.other_successes, k)
    none_passes = comb(task.other, k) / comb(task.trials, k)
    of_passed = task.passed_successes / task.passed if task.passed else 0.0
    of_others = task.other_successes / task.other if task.other else 0.0
    return (1 - none_passes) * of_passed + none_passes * of_others


def mean_best_of_k(tasks: Sequence[Picked], k: int) -> TaskMean:
    """`best_of_k` averaged over tasks."""
    return _over_tasks([best_of_k(task, k) for task in tasks])


def _check_trials(trials: int, successes: int, k: int) -> None:
    if not 0 <= successes <= trials or k < 1:
        raise ValueError(f"no such trials: {successes} of {trials}, k = {k}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMean:
    """A figure averaged over tasks, and how many tasks had too few trials for it."""

    value: Figure
    tasks: int
    left_out: int


def mean_pass_at_k(trials: Sequence[tuple[int, int]], k: int) -> TaskMean:
    """`pass_at_k` averaged over tasks, each given as (trials, successes)."""
    return _over_tasks([pass_at_k(n, c, k) for n, c in trials])


def mean_pass_hat_k(trials: Sequence[tuple[int, int]], k: int) -> TaskMean:
    """`pass_hat_k` averaged over tasks, each given as (trials, successes)."""
    return _over_tasks([pass_hat_k(n, c, k) for n, c in trials])


def _over_tasks(figures: Sequence[Figure]) -> TaskMean:
    defined = [figure for figure in figures if not isinstance(figure, Undefined)]
    left_out = len(figures) - len(defined)
    if defined:
        value: Figure = sum(defined) / len(defined)
    else:
        value = Undefined(Reason.TOO_FEW_TRIALS if left_out else Reason.NO_RUNS)
    return TaskMean(value=value, tasks=len(defined), left_out=left_out)
