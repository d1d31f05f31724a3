"""How far the candidate lies below the baseline, and whether that is a regression.

The task is what is compared and what is drawn from a population: every task counts once, with
the mean over its trials, and the interval is that of the mean of the tasks' differences. So it
knows that trials share tasks, and that some tasks are hard for both sides.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from django.db.models import TextChoices

from judging.statistics.figures import Interval, Reason, Undefined
from judging.statistics.success import ROUNDING, mean, mean_interval, pass_at_k


class Metric(StrEnum):
    """What is compared: all lie between 0 and 1 for a task."""

    PROGRESS = "progress"
    SUCCESS = "success"
    PASS_AT_K = "pass_at_k"  # noqa: S105


TaskKey = tuple[str, str]
"""The name of a task set and of a task in it: the same in every version of the set."""


@dataclass(frozen=True, slots=True)
class Trials:
    """The trials of one task on one side: those with a value, and why the others have none."""

    values: tuple[float, ...] = ()
    """Successes as 1 and failures as 0; for progress shares of 1."""
    silent: Mapping[str, int] = field(default_factory=Counter)
    """Trials without a value by the reason, such as `ended in an error`."""
    partial: int = 0
    """Values that are over some of the task's milestones only: the others could not be told."""

    @property
    def all(self) -> int:
        return len(self.values) + sum(self.silent.values())

    def score(self, metric: Metric, k: int) -> float | None:
        """The task's score; None where too few trials have a value."""
        if metric is Metric.PASS_AT_K:
            found = pass_at_k(len(self.values), sum(value > 0 for value in self.values), k)
            return None if isinstance(found, Undefined) else found
        return sum(self.values) / len(self.values) if self.values else None


NOTHING = Trials()
Side = Mapping[TaskKey, Trials]


def largest_k(baseline: Side, candidate: Side) -> int:
    """The most trials with a value that some task has on both sides; at least 1."""
    on_both = (
        min(len(baseline[task].values), len(candidate[task].values))
        for task in baseline.keys() & candidate.keys()
    )
    return max(1, max(on_both, default=1))


LEAST_TASKS = 2
"""With fewer there is no interval, so nobody can tell a regression from noise."""


class CannotTellError(ValueError):
    """The two sides cannot be compared; says why in one line."""


class Finding(TextChoices):
    """What the figures say, whatever the rule makes of it: noise is an interval that includes 0."""

    REGRESSION = "regression", "the drop is larger than allowed, and more than noise"
    WITHIN_NOISE = "within_noise", "the drop is larger than allowed, but within noise"
    ALLOWED_DROP = "allowed_drop", "there is a drop that is more than noise, and it is allowed"
    NO_DIFFERENCE = "no_difference", "the difference is within noise"
    IMPROVEMENT = "improvement", "the candidate is better, and by more than noise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When the gate fails.

    The drop must be larger than `max_drop` (a share: 0.05 is 5 points), and its interval must
    exclude 0; `strict` fails without asking for the latter.
    """

    max_drop: float = 0.05
    strict: bool = False
    max_missing: float = 0.1
    """The share of tasks that may be impossible to compare before nothing is said at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLine:
    """One task on both sides; `drop` is None where it cannot be compared."""

    task: TaskKey
    baseline: Trials
    candidate: Trials
    scores: tuple[float | None, float | None]

    @property
    def drop(self) -> float | None:
        before, after = self.scores
        return None if before is None or after is None else before - after

    @property
    def missing(self) -> tuple[int, int]:
        """Trials that the other side has and this one has not, on either side."""
        most = max(self.baseline.all, self.candidate.all)
        return most - self.baseline.all, most - self.candidate.all

    @property
    def is_whole(self) -> bool:
        return not (self.baseline.silent or self.candidate.silent or any(self.missing))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What came of the gate. Scores, drop and interval are shares of 1."""

    metric: Metric
    k: int
    rule: Rule
    lines: Sequence[TaskLine]
    """All tasks of either side, the worst first, those that cannot be compared last."""
    means: tuple[float, float]
    drop: float
    interval: Interval
    finding: Finding

    @property
    def compared(self) -> list[TaskLine]:
        return [line for line in self.lines if line.drop is not None]

    @property
    def not_compared(self) -> list[TaskLine]:
        return [line for line in self.lines if line.drop is None]

    @property
    def incomplete(self) -> list[TaskLine]:
        """Tasks that were compared although trials of theirs say nothing or are missing."""
        return [line for line in self.compared if not line.is_whole]

    @property
    def failed(self) -> bool:
        strictly = self.rule.strict and self.finding is Finding.WITHIN_NOISE
        return self.finding is Finding.REGRESSION or strictly

    @property
    def cannot_rule_out(self) -> bool:
        """Whether a drop of more than is allowed may still hide in the noise."""
        return self.interval.high > self.rule.max_drop


def decide(
    baseline: Side, candidate: Side, metric: Metric, rule: Rule, k: int | None = None
) -> Decision:
    """Hold the candidate against the baseline.

    Raises CannotTellError where too few tasks can be compared.

    Args:
        k: of pass@k; by default the most trials that some task has on both sides.
    """
    k = k or largest_k(baseline, candidate)
    lines = [
        TaskLine(
            task=task,
            baseline=before,
            candidate=after,
            scores=(before.score(metric, k), after.score(metric, k)),
        )
        for task in sorted(baseline.keys() | candidate.keys())
        for before, after in [(baseline.get(task, NOTHING), candidate.get(task, NOTHING))]
    ]
    drops = [line.drop for line in lines if line.drop is not None]
    _demand_enough(lines, len(drops), rule, k)
    lines.sort(key=lambda line: (line.drop is None, -(line.drop or 0.0), line.task))
    compared = [line.scores for line in lines if line.drop is not None]
    drop, interval = mean_drop(drops, one_trial=_one_trial(lines, metric, k))
    return Decision(
        metric=metric,
        k=k,
        rule=rule,
        lines=lines,
        means=(_mean([before for before, _ in compared]), _mean([after for _, after in compared])),
        drop=drop,
        interval=interval,
        finding=finding_of(drop, interval, rule.max_drop),
    )


def mean_drop(drops: Sequence[float], *, one_trial: float = 1.0) -> tuple[float, Interval]:
    """The mean of the tasks' drops and its interval: mean ± t·s/√n with n − 1 degrees of freedom.

    Student's t and not the normal quantile: gates are often run over a dozen tasks, where the
    latter would cry wolf. Where all drops are alike, s = 0 would claim certainty, of two tasks as
    of two hundred: there the interval is that of two tasks more, of which one loses as much and one
    wins as much, or a trial each where the drop is 0. Raises CannotTellError for fewer than
    two tasks.

    Args:
        one_trial: what one trial more or less changes the score of a task by.

    Source: Miller (2024), Adding Error Bars to Evals, arXiv 2411.00640, section 4, over tasks;
        Bonett and Price (2012), Journal of Educational and Behavioral Statistics 37, for the two.
    """
    found = mean(drops)
    # What a task can lose or gain is all of it, and so is the mean.
    interval = mean_interval(found, low=-1.0, high=1.0)
    if interval == Undefined(Reason.ALL_ALIKE):
        change = abs(drops[0]) if abs(drops[0]) > ROUNDING else one_trial
        more = mean([*drops, change, -change])
        interval = mean_interval(more, low=-1.0, high=1.0)
    if isinstance(found.value, Undefined) or isinstance(interval, Undefined):
        raise CannotTellError(f"an interval takes {LEAST_TASKS} tasks, there are {len(drops)}")
    return found.value, replace(interval, method="paired by task, t")


def finding_of(drop: float, interval: Interval, max_drop: float) -> Finding:
    """What the drop is, given its interval. A drop of just `max_drop` is allowed."""
    is_real = interval.low > 0
    if drop > max_drop + 1e-12:
        return Finding.REGRESSION if is_real else Finding.WITHIN_NOISE
    if is_real:
        return Finding.ALLOWED_DROP
    return Finding.IMPROVEMENT if interval.high < 0 else Finding.NO_DIFFERENCE


def _one_trial(lines: Sequence[TaskLine], metric: Metric, k: int) -> float:
    """The most that one trial changes the score of some task by."""
    sides = [
        side for line in lines if line.drop is not None for side in (line.baseline, line.candidate)
    ]
    fewest = min(len(side.values) for side in sides)
    # The first of n trials that succeeds raises pass@k by k/n.
    return (k if metric is Metric.PASS_AT_K else 1) / fewest


def _demand_enough(lines: Sequence[TaskLine], compared: int, rule: Rule, k: int) -> None:
    tasks, missing = len(lines), len(lines) - compared
    if compared < LEAST_TASKS:
        problem = f"{compared} of {tasks} tasks have a value on both sides; it takes {LEAST_TASKS}"
    elif missing > rule.max_missing * tasks:
        problem = (
            f"{missing} of {tasks} tasks cannot be compared, more than --max-missing "
            f"{100 * rule.max_missing:g} % allows"
        )
    else:
        return
    raise CannotTellError("; ".join([problem, *_whys(lines, k)]))


def _whys(lines: Sequence[TaskLine], k: int) -> Iterator[str]:
    """Of each side why tasks have no score there, the most frequent reason first."""
    for number, side in enumerate(("baseline", "candidate")):
        reasons = Counter(
            _why((line.baseline, line.candidate)[number], k)
            for line in lines
            if line.scores[number] is None
        )
        if reasons:
            told = (f"{why}: {n}" for why, n in reasons.most_common())
            yield f"tasks of the {side} {', '.join(told)}"


def _why(trials: Trials, k: int) -> str:
    if not trials.all:
        return "without a run"
    if trials.values:
        return f"with fewer than {k} trials that have a verdict"
    return f"whose runs say nothing ({max(trials.silent, key=lambda why: trials.silent[why])})"


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return sum(known) / len(known)
