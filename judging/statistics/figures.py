"""What a statistic returns: a number, or the reason in words why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a figure does not exist. The value is the sentence to show beside the dash."""

    NO_RUNS = "there are no runs"
    NO_VERDICTS = "the evaluator gave no verdict"
    NOTHING_PASSED = "the evaluator passed no run"
    NOTHING_FAILED = "the evaluator failed no run"
    NO_SUCCESSES = "no run is a success by the reference"
    NO_FAILURES = "no run is a failure by the reference"
    NO_POSITIVES = "no run is a success by the reference, and the evaluator passed none"
    NO_PAIRS = "no run has two labels"
    ONE_CLASS = "all labels are the same, so agreement by chance is certain"
    TOO_FEW_TRIALS = "there are fewer trials than k"
    TOO_FEW_RUNS = "one run alone has no spread"
    ONE_CLUSTER = "one task alone has no spread between tasks"
    NO_SPREAD = "all values of one side are the same"
    ALL_ALIKE = "all are alike: no spread to tell an interval from"
    NO_ORDER = "neither of two people comes first"
    TOO_FEW_POINTS = "an interval for r takes at least four pairs"
    WEAK_JUDGE = "the evaluator tells success from failure hardly better than chance"
    NOTHING_MARKED = "the detector marked no run that people speak of"
    NOTHING_SEEN = "people see it in no run"
    NOTHING_CREDITED = "the judge credits this milestone to no run"
    NOTHING_TICKED = "people tick this milestone for no run"
    NO_FAILED_RUNS = "no run failed"
    NO_TOLD_PROGRESS = "no run has a progress rate from this source"
    NEVER_DEFINED = "the figure is undefined in almost every resample"


@dataclass(frozen=True, slots=True)
class Undefined:
    """There is no such figure, and why. Shown as a dash with the reason, never as 0 or 1."""

    reason: Reason


Figure = float | Undefined


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval with its level (0.95 for 95 %) and the method that gave it.

    For a bootstrap also the seed, the number of resamples, and the share of them in which the
    figure was undefined and so left out.
    """

    low: float
    high: float
    level: float
    method: str
    seed: int | None = None
    resamples: int | None = None
    undefined_share: float = 0.0
