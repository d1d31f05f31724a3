"""Figures with intervals, or why there is none; proportions with Wilson's interval."""

from dataclasses import dataclass
from enum import StrEnum
from math import sqrt

from webagent.measures import normal_quantile, wilson_bounds


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
    NOBODY_LOOKED = "nobody who could find it has looked"
    NO_KNOWN_PROGRESS = "no run has a progress rate from this source"
    NEVER_DEFINED = "the figure is undefined in almost every resample"


@dataclass(frozen=True, slots=True)
class Undefined:
    """There is no such figure, and why. Shown as a dash with the reason, never as 0 or 1."""

    reason: Reason


Figure = float | Undefined
LEVEL = 0.95
"""Of the intervals, wherever no other is chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval of `LEVEL` with the method that gave it."""

    low: float
    high: float
    method: str


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `total`, a figure with an interval; `reason` says what an empty total means."""

    count: int
    total: int
    reason: Reason = Reason.NO_RUNS

    def __post_init__(self) -> None:
        if not 0 <= self.count <= self.total:
            raise ValueError(f"{self.count} of {self.total} is no share")

    @property
    def value(self) -> Figure:
        """The share in [0, 1]."""
        return self.count / self.total if self.total else Undefined(self.reason)

    @property
    def interval(self) -> Interval | Undefined:
        """Its 95 % Wilson interval."""
        return wilson_interval(self.count, self.total) if self.total else Undefined(self.reason)


def wilson_interval(count: int, total: int) -> Interval | Undefined:
    """The 95 % Wilson score interval of a binomial proportion, without continuity correction."""
    if not 0 <= count <= total:
        raise ValueError(f"{count} of {total} is no share")
    if not total:
        return Undefined(Reason.NO_RUNS)
    low, high = wilson_bounds(count, total, LEVEL)
    return Interval(low=low, high=high, method="Wilson")


LEAST_INFORMEDNESS = 0.2


def rogan_gladen(
    apparent_rate: float, true_positive_rate: Figure, true_negative_rate: Figure
) -> Figure:
    """The success rate behind an imperfect judge, held within [0, 1].

    (p + TNR − 1) / (TPR + TNR − 1). Undefined where TPR + TNR − 1 is below
    `LEAST_INFORMEDNESS`: there the judge hardly depends on the truth, and the correction would
    amplify noise.

    Source: Rogan and Gladen (1978), American Journal of Epidemiology 107.
    """
    if isinstance(true_positive_rate, Undefined):
        return true_positive_rate
    if isinstance(true_negative_rate, Undefined):
        return true_negative_rate
    informedness = true_positive_rate + true_negative_rate - 1
    if informedness < LEAST_INFORMEDNESS:
        return Undefined(Reason.WEAK_JUDGE)
    return min(1.0, max(0.0, (apparent_rate + true_negative_rate - 1) / informedness))


def rogan_gladen_interval(
    passed: Share, true_positives: Share, true_negatives: Share
) -> Interval | Undefined:
    """The interval of `rogan_gladen` where all three rates are estimates, within [0, 1].

    With p' = (k + z²/2)/(n + z²), n' = n + z² for the pass rate, and Se' = (c + 1)/(m + 2),
    m' = m + 2 for either rate of the judge, Sp' likewise: π' = (p' + Sp' − 1)/(Se' + Sp' − 1),
    δ = 2z²(π'·Se'(1 − Se')/m' − (1 − π')·Sp'(1 − Sp')/m''), and
    π' + δ ± z·sqrt(p'(1 − p')/n' + π'²·Se'(1 − Se')/m' + (1 − π')²·Sp'(1 − Sp')/m'') /
    (Se' + Sp' − 1).

    Args:
        passed: what the judge passes among runs of which the truth is not known.
        true_positives: what it passes among successes; `true_negatives`: what it does not pass
            among failures, both over other runs than `passed`.

    Source: Lang and Reiczigel (2014), Preventive Veterinary Medicine 113.
    """
    value = rogan_gladen_of(passed, true_positives, true_negatives)
    if isinstance(value, Undefined):
        return value
    z = normal_quantile(LEVEL)
    runs = passed.total + z * z
    rate = (passed.count + z * z / 2) / runs
    sensitivity = (true_positives.count + 1) / (true_positives.total + 2)
    specificity = (true_negatives.count + 1) / (true_negatives.total + 2)
    informedness = sensitivity + specificity - 1
    if informedness <= 0:
        return Undefined(Reason.WEAK_JUDGE)
    truth = (rate + specificity - 1) / informedness
    of_sensitivity = sensitivity * (1 - sensitivity) / (true_positives.total + 2)
    of_specificity = specificity * (1 - specificity) / (true_negatives.total + 2)
    shift = 2 * z * z * (truth * of_sensitivity - (1 - truth) * of_specificity)
    variance = (
        rate * (1 - rate) / runs
        + truth * truth * of_sensitivity
        + (1 - truth) * (1 - truth) * of_specificity
    )
    half = z * sqrt(variance) / informedness
    return Interval(
        low=min(1.0, max(0.0, truth + shift - half)),
        high=max(0.0, min(1.0, truth + shift + half)),
        method="Lang and Reiczigel",
    )


def rogan_gladen_of(passed: Share, true_positives: Share, true_negatives: Share) -> Figure:
    """`rogan_gladen` from counts."""
    if isinstance(passed.value, Undefined):
        return passed.value
    return rogan_gladen(passed.value, true_positives.value, true_negatives.value)


def student_quantile(level: float, degrees: int) -> float:
    """How many standard errors to either side hold the middle `level` of Student's t."""
    # SciPy takes as much memory as a tenth of a web process, and few pages ask for it.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2))


def binomial_below(most: int, trials: int, share: float) -> float:
    """How likely at most so many of the trials succeed, each with this probability."""
    from scipy.special import bdtr

    return float(bdtr(most, trials, share))
