"""An evaluator held against the reference verdicts: the four cells, and the fifth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from judging.statistics.bootstrap import (
    RESAMPLES,
    Floats,
    divide,
    percentile_interval,
    resampled_kinds,
    resampled_totals,
)
from judging.statistics.figures import Figure, Interval, Reason, Share, Undefined


class Cell(StrEnum):
    """Where a run falls: reference verdict against evaluator verdict. Positive is success."""

    TP = "tp"
    FN = "fn"
    TN = "tn"
    FP = "fp"
    NO_VERDICT_ON_SUCCESS = "no_verdict_on_success"
    NO_VERDICT_ON_FAILURE = "no_verdict_on_failure"

    @property
    def has_verdict(self) -> bool:
        """Whether the evaluator said something: the other two are the fifth cell."""
        return self not in (Cell.NO_VERDICT_ON_SUCCESS, Cell.NO_VERDICT_ON_FAILURE)


def cell(succeeded: bool, passed: bool | None) -> Cell:
    """The cell of a run; `passed` is None where the evaluator gave no verdict."""
    if succeeded:
        if passed is None:
            return Cell.NO_VERDICT_ON_SUCCESS
        return Cell.TP if passed else Cell.FN
    if passed is None:
        return Cell.NO_VERDICT_ON_FAILURE
    return Cell.FP if passed else Cell.TN


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfusionMatrix:
    """Counts of runs by reference verdict and evaluator verdict.

    Runs without a verdict from the evaluator are a cell of their own: they count in `runs` (and
    so in the FN share, prevalence and coverage) and in no rate that speaks of verdicts.
    """

    tp: int
    fn: int
    tn: int
    fp: int
    no_verdict_on_success: int = 0
    no_verdict_on_failure: int = 0

    def __post_init__(self) -> None:
        if (
            min(self.tp, self.fn, self.tn, self.fp) < 0
            or min(self.no_verdict_on_success, self.no_verdict_on_failure) < 0
        ):
            raise ValueError("a cell counts runs and cannot be negative")

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool | None]]) -> ConfusionMatrix:
        """Count (succeeded by reference, passed by evaluator or None) pairs."""
        return cls.counted(Counter(cell(succeeded, passed) for succeeded, passed in pairs))

    @classmethod
    def counted(cls, cells: Mapping[Cell, int]) -> ConfusionMatrix:
        """The matrix of runs that are counted by cell already; cells that are not named are 0."""
        return cls(**{each.value: cells.get(each, 0) for each in Cell})

    @property
    def no_verdict(self) -> int:
        """The fifth cell."""
        return self.no_verdict_on_success + self.no_verdict_on_failure

    @property
    def decided(self) -> int:
        """Runs with a verdict."""
        return self.tp + self.fn + self.tn + self.fp

    @property
    def wrong(self) -> int:
        """FN + FP: runs on which the evaluator contradicts the reference."""
        return self.fn + self.fp

    @property
    def runs(self) -> int:
        """N: runs with a reference verdict."""
        return self.decided + self.no_verdict

    def with_silence_as_error(self) -> ConfusionMatrix:
        """The same where a run without a verdict is judged wrongly: a success missed, or a failure
        let pass. It counts against the evaluator, never as a failure of the agent.
        """
        return ConfusionMatrix(
            tp=self.tp,
            fn=self.fn + self.no_verdict_on_success,
            tn=self.tn,
            fp=self.fp + self.no_verdict_on_failure,
        )

    @property
    def coverage(self) -> Share:
        """Share of runs that the evaluator gave a verdict on."""
        return Share(self.decided, self.runs)

    @property
    def prevalence(self) -> Share:
        """Share of runs that are successes by the reference."""
        return Share(self.tp + self.fn + self.no_verdict_on_success, self.runs)

    @property
    def fn_share(self) -> Share:
        """FN / N: the "false negative rate" of the WebArena Mod paper (16/75 = 21.3 %).

        Undefined without any verdict: whoever says nothing misses nothing, and that is no merit.
        """
        if self.runs and not self.decided:
            return Share(0, 0, Reason.NO_VERDICTS)
        return Share(self.fn, self.runs)

    @property
    def fnr(self) -> Share:
        """FN / (FN + TP): the miss rate. Not the FN share; never mix the two."""
        return Share(self.fn, self.fn + self.tp, Reason.NO_SUCCESSES)

    @property
    def fpr(self) -> Share:
        """FP / (FP + TN)."""
        return Share(self.fp, self.fp + self.tn, Reason.NO_FAILURES)

    @property
    def precision(self) -> Share:
        """TP / (TP + FP)."""
        return Share(self.tp, self.tp + self.fp, Reason.NOTHING_PASSED)

    @property
    def recall(self) -> Share:
        """TP / (TP + FN), the true positive rate."""
        return Share(self.tp, self.tp + self.fn, Reason.NO_SUCCESSES)

    @property
    def specificity(self) -> Share:
        """TN / (TN + FP), the true negative rate."""
        return Share(self.tn, self.tn + self.fp, Reason.NO_FAILURES)

    @property
    def npv(self) -> Share:
        """TN / (TN + FN), the negative predictive value."""
        return Share(self.tn, self.tn + self.fn, Reason.NOTHING_FAILED)

    @property
    def accuracy(self) -> Share:
        """(TP + TN) / decided."""
        return Share(self.tp + self.tn, self.decided, Reason.NO_VERDICTS)

    @property
    def error_rate(self) -> Share:
        """(FN + FP) / decided."""
        return Share(self.wrong, self.decided, Reason.NO_VERDICTS)

    @property
    def pass_rate(self) -> Share:
        """(TP + FP) / decided: the success rate as the evaluator sees it."""
        return Share(self.tp + self.fp, self.decided, Reason.NO_VERDICTS)

    @property
    def reference_rate(self) -> Share:
        """(TP + FN) / decided: the success rate by the reference, over the runs of `pass_rate`."""
        return Share(self.tp + self.fn, self.decided, Reason.NO_VERDICTS)

    @property
    def f1(self) -> Figure:
        """2·TP / (2·TP + FP + FN): the harmonic mean of precision and recall."""
        whole = 2 * self.tp + self.fp + self.fn
        if not whole:
            return Undefined(Reason.NO_POSITIVES if self.decided else Reason.NO_VERDICTS)
        return 2 * self.tp / whole

    @property
    def kappa(self) -> Figure:
        """Cohen's kappa between evaluator and reference, over the decided runs.

        2(TP·TN − FP·FN) / ((TP+FP)(FP+TN) + (TP+FN)(FN+TN)), which is (po − pe)/(1 − pe).
        """
        if not self.decided:
            return Undefined(Reason.NO_VERDICTS)
        chance = (self.tp + self.fp) * (self.fp + self.tn) + (self.tp + self.fn) * (
            self.fn + self.tn
        )
        if not chance:
            return Undefined(Reason.ONE_CLASS)
        return 2 * (self.tp * self.tn - self.fp * self.fn) / chance


_FIGURES: dict[str, Callable[[Floats, Floats, Floats, Floats, Floats], Floats]] = {
    "accuracy": lambda tp, fn, tn, fp, runs: divide(tp + tn, tp + fn + tn + fp),
    "precision": lambda tp, fn, tn, fp, runs: divide(tp, tp + fp),
    "recall": lambda tp, fn, tn, fp, runs: divide(tp, tp + fn),
    "specificity": lambda tp, fn, tn, fp, runs: divide(tn, tn + fp),
    "npv": lambda tp, fn, tn, fp, runs: divide(tn, tn + fn),
    "fn_share": lambda tp, fn, tn, fp, runs: divide(fn, runs),
    "fnr": lambda tp, fn, tn, fp, runs: divide(fn, tp + fn),
    "fpr": lambda tp, fn, tn, fp, runs: divide(fp, fp + tn),
    "f1": lambda tp, fn, tn, fp, runs: divide(2 * tp, 2 * tp + fp + fn),
    "kappa": lambda tp, fn, tn, fp, runs: divide(
        2 * (tp * tn - fp * fn), (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    ),
}
BOOTSTRAPPED = tuple(_FIGURES)
"""Names of the figures of a `ConfusionMatrix` that have an interval here."""


def evaluator_intervals(
    tasks: Mapping[ConfusionMatrix, int],
    figures: Sequence[str] = BOOTSTRAPPED,
    *,
    seed: int,
    resamples: int = RESAMPLES,
) -> Mapping[str, Interval | Undefined]:
    """Intervals of several of `BOOTSTRAPPED` from the counts of each task, drawn once for all.

    For as many runs as there may be: what it takes grows with the kinds of tasks alone.

    Args:
        tasks: how many tasks have these counts of runs.
    """
    kinds = np.array([[getattr(each, cell) for cell in Cell] for each in tasks], dtype=float)
    kinds = kinds.reshape(-1, len(Cell))
    drawn = resampled_kinds(kinds, list(tasks.values()), seed=seed, resamples=resamples)
    return _intervals(drawn, figures)


def intervals_by_task(
    tasks: Floats, figures: Sequence[str], *, seed: int
) -> Mapping[str, Interval | Undefined]:
    """The same from the tasks themselves.

    Args:
        tasks: shape (tasks, cells): the runs of each in every `Cell`, in the order of its members.
    """
    return _intervals(resampled_totals(tasks, seed=seed), figures)


def _intervals(
    drawn: Floats | Undefined, figures: Sequence[str]
) -> Mapping[str, Interval | Undefined]:
    if isinstance(drawn, Undefined):
        return dict.fromkeys(figures, drawn)
    tp, fn, tn, fp = drawn[:, 0], drawn[:, 1], drawn[:, 2], drawn[:, 3]
    runs = drawn.sum(axis=1)
    return {name: percentile_interval(_FIGURES[name](tp, fn, tn, fp, runs)) for name in figures}
