"""Bootstrap intervals of an evaluator's figures, whole tasks resampled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from judging.statistics.bootstrap import (
    RESAMPLES,
    Floats,
    divide,
    percentile_interval,
    resampled_kinds,
    resampled_totals,
)
from judging.statistics.confusion import Cell, ConfusionMatrix
from judging.statistics.figures import Interval, Undefined


def _f1(tp: Floats, fn: Floats, tn: Floats, fp: Floats, runs: Floats) -> Floats:
    return divide(2 * tp, 2 * tp + fp + fn)


def _kappa(tp: Floats, fn: Floats, tn: Floats, fp: Floats, runs: Floats) -> Floats:
    return divide(2 * (tp * tn - fp * fn), (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn))


_FIGURES: dict[str, Callable[[Floats, Floats, Floats, Floats, Floats], Floats]] = {
    "accuracy": lambda tp, fn, tn, fp, runs: divide(tp + tn, tp + fn + tn + fp),
    "precision": lambda tp, fn, tn, fp, runs: divide(tp, tp + fp),
    "recall": lambda tp, fn, tn, fp, runs: divide(tp, tp + fn),
    "specificity": lambda tp, fn, tn, fp, runs: divide(tn, tn + fp),
    "npv": lambda tp, fn, tn, fp, runs: divide(tn, tn + fn),
    "fn_share": lambda tp, fn, tn, fp, runs: divide(fn, runs),
    "fnr": lambda tp, fn, tn, fp, runs: divide(fn, tp + fn),
    "fpr": lambda tp, fn, tn, fp, runs: divide(fp, fp + tn),
    "f1": _f1,
    "kappa": _kappa,
}
BOOTSTRAPPED = tuple(_FIGURES)
"""Names of the figures of a `ConfusionMatrix` that have an interval here."""


def evaluator_intervals(
    tasks: Mapping[ConfusionMatrix, int],
    figures: Sequence[str] = BOOTSTRAPPED,
    *,
    seed: int,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Mapping[str, Interval | Undefined]:
    """Intervals of several of `BOOTSTRAPPED` from the counts of each task, drawn once for all.

    For as many runs as there may be: what it takes grows with the kinds of tasks alone.

    Args:
        tasks: how many tasks have these counts of runs.
    """
    kinds = np.array([[getattr(each, cell) for cell in Cell] for each in tasks], dtype=float)
    kinds = kinds.reshape(-1, len(Cell))
    drawn = resampled_kinds(kinds, list(tasks.values()), seed=seed, resamples=resamples)
    return _intervals(drawn, figures, seed, level)


def intervals_by_task(
    tasks: Floats, figures: Sequence[str], *, seed: int, level: float = 0.95
) -> Mapping[str, Interval | Undefined]:
    """The same from the tasks themselves.

    Args:
        tasks: shape (tasks, cells): the runs of each in every `Cell`, in the order of its members.
    """
    return _intervals(resampled_totals(tasks, seed=seed), figures, seed, level)


def _intervals(
    drawn: Floats | Undefined, figures: Sequence[str], seed: int, level: float
) -> Mapping[str, Interval | Undefined]:
    if isinstance(drawn, Undefined):
        return dict.fromkeys(figures, drawn)
    tp, fn, tn, fp = drawn[:, 0], drawn[:, 1], drawn[:, 2], drawn[:, 3]
    runs = drawn.sum(axis=1)
    return {
        name: percentile_interval(_FIGURES[name](tp, fn, tn, fp, runs), seed=seed, level=level)
        for name in figures
    }
