"""The gate's rule and its statistics: by hand, and over simulated agents."""

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judging.analysis.gate.decision import (
    CannotTellError,
    Decision,
    Finding,
    Metric,
    Rule,
    Side,
    Trials,
    decide,
    finding_of,
    largest_k,
    mean_drop,
)
from judging.statistics.figures import Interval

FIVE = Rule(max_drop=0.05)


def side(*tasks: Iterable[float]) -> Side:
    return {("set", f"{n:03d}"): Trials(tuple(values)) for n, values in enumerate(tasks)}


def success(baseline: Side, candidate: Side, rule: Rule = FIVE) -> Decision:
    return decide(baseline, candidate, Metric.SUCCESS, rule)


def drawn(chances: Iterable[float], trials: int, rng: np.random.Generator) -> Side:
    return side(*(rng.binomial(1, chance, trials).astype(float) for chance in chances))


def test_mean_and_interval_by_hand() -> None:
    """Drops 1, 0, 0, 0.5, 0: mean 0.3, s² = 0.2, and t with 4 degrees of freedom is 2.7764451."""
    drop, interval = mean_drop([1.0, 0.0, 0.0, 0.5, 0.0])
    assert drop == pytest.approx(0.3)
    half = 2.7764451 * (0.2 / 5) ** 0.5
    assert interval.low == pytest.approx(0.3 - half)
    assert interval.high == pytest.approx(0.3 + half)


def test_every_task_counts_once_however_many_trials_it_has() -> None:
    found = success(side([1, 1, 1, 1], [0]), side([0, 0, 0, 0], [0]))
    assert found.means == (0.5, 0.0)
    assert found.drop == 0.5


def test_pass_at_k_is_the_unbiased_estimator_of_each_task() -> None:
    before, after = side([1, 1, 0], [1, 0, 0]), side([1, 0, 0], [0, 0, 0])
    found = decide(before, after, Metric.PASS_AT_K, FIVE, 2)
    assert found.means == pytest.approx(((1 + 2 / 3) / 2, (2 / 3 + 0) / 2))
    assert decide(before, after, Metric.PASS_AT_K, FIVE).k == 3


@pytest.mark.parametrize(
    ("drop", "low", "high", "finding"),
    [
        (0.20, 0.10, 0.30, Finding.REGRESSION),
        (0.20, -0.01, 0.41, Finding.WITHIN_NOISE),
        (0.20, 0.0, 0.40, Finding.WITHIN_NOISE),
        (0.05, 0.04, 0.06, Finding.ALLOWED_DROP),
        (0.03, -0.01, 0.07, Finding.NO_DIFFERENCE),
        (-0.1, -0.2, -0.01, Finding.IMPROVEMENT),
    ],
)
def test_the_rule(drop: float, low: float, high: float, finding: Finding) -> None:
    assert finding_of(drop, Interval(low=low, high=high, method=""), 0.05) is finding


def test_strict_fails_within_noise_and_the_default_does_not() -> None:
    before, after = side(*[[1.0]] * 5), side([0.0], *[[1.0]] * 4)
    lenient, strict = (success(before, after, Rule(strict=word)) for word in (False, True))
    assert lenient.finding is strict.finding is Finding.WITHIN_NOISE
    assert (lenient.failed, strict.failed) == (False, True)
    assert lenient.cannot_rule_out


def test_a_planted_regression_fails_and_noise_passes() -> None:
    """40 tasks of every difficulty with 3 trials each; the same agent twice, and one that solves
    each task a quarter less often. An interval of 95 % lets 1 build in 40 cry wolf.
    """
    rng = np.random.default_rng(20261121)
    alarms = found = 0
    builds = 120
    for _ in range(builds):
        chances = rng.beta(1, 1, 40)
        baseline = drawn(chances, 3, rng)
        alarms += success(baseline, drawn(chances, 3, rng)).failed
        found += success(baseline, drawn(np.maximum(0, chances - 0.25), 3, rng)).failed
    assert alarms / builds <= 0.05
    assert found / builds >= 0.95


def test_few_tasks_do_not_cry_wolf_either() -> None:
    """What Student's t is for: with the normal quantile it is one build in eighteen."""
    rng = np.random.default_rng(7)
    builds = 1500
    chances = rng.beta(2, 2, (builds, 8))
    drops = rng.binomial(1, chances) - rng.binomial(1, chances).astype(float)
    findings = Counter(finding_of(*mean_drop(list(each)), 0.05) for each in drops)
    assert findings[Finding.WITHIN_NOISE] > builds / 4
    assert findings[Finding.REGRESSION] / builds <= 0.035


def test_progress_tells_a_regression_that_success_does_not() -> None:
    rng = np.random.default_rng(3)
    before = side(*(rng.uniform(0.5, 0.9, 2) for _ in range(30)))
    after = {task: Trials(tuple(v - 0.1 for v in trials.values)) for task, trials in before.items()}
    assert decide(before, after, Metric.PROGRESS, FIVE).finding is Finding.REGRESSION


def test_trials_that_say_nothing_are_named_and_not_averaged() -> None:
    before = side(*[[1.0, 1.0]] * 20)
    after = dict(side(*[[1.0, 1.0]] * 20))
    after["set", "000"] = Trials((1.0,), Counter({"ended in an error": 1}))
    after["set", "001"] = Trials((), Counter({"ended in an error": 2}))
    del after["set", "002"]
    found = success(before, after)
    assert found.drop == 0.0
    assert [line.task[1] for line in found.incomplete] == ["000"]
    assert [line.task[1] for line in found.not_compared] == ["001", "002"]
    assert found.not_compared[1].missing == (0, 2)


def test_too_little_to_compare_is_said_in_a_line() -> None:
    with pytest.raises(CannotTellError, match="1 of 1 tasks"):
        success(side([1.0]), side([1.0]))
    before, after = side(*[[1.0]] * 10), side(*[[1.0]] * 8)
    with pytest.raises(CannotTellError, match="2 of 10 tasks cannot be compared"):
        success(before, after)
    assert len(success(before, after, Rule(max_missing=0.2)).not_compared) == 2


def test_why_nothing_can_be_compared_is_said_of_either_side() -> None:
    silent = {("set", f"{n:03d}"): Trials((), Counter({"no verdict": 2})) for n in range(3)}
    with pytest.raises(CannotTellError) as caught:
        success(side([1.0], [1.0], [0.0]), silent)
    assert str(caught.value).endswith(
        "tasks of the candidate whose runs say nothing (no verdict): 3"
    )
    with pytest.raises(CannotTellError, match="with fewer than 4 trials that have a verdict: 2"):
        decide(side([1.0], [0.0]), side([1.0], [0.0]), Metric.PASS_AT_K, FIVE, 4)


shares = st.lists(st.floats(0, 1), min_size=1, max_size=4)


@settings(max_examples=40)
@given(st.lists(st.tuples(shares, shares), min_size=2, max_size=12), st.floats(0, 0.5))
def test_whatever_the_scores(tasks: list[tuple[list[float], list[float]]], allowed: float) -> None:
    before, after = (side(*each) for each in zip(*tasks, strict=True))
    rule = Rule(max_drop=allowed)
    found = decide(before, after, Metric.PROGRESS, rule)
    back = decide(after, before, Metric.PROGRESS, rule)
    assert found.drop == pytest.approx(found.means[0] - found.means[1], abs=1e-9)
    assert found.drop == pytest.approx(-back.drop, abs=1e-9)
    assert -1 <= found.interval.low <= found.drop + 1e-9
    assert found.drop - 1e-9 <= found.interval.high <= 1
    assert not (found.failed and back.failed)
    strict = decide(before, after, Metric.PROGRESS, Rule(max_drop=allowed, strict=True))
    assert strict.failed or not found.failed


@pytest.mark.parametrize(("tasks", "failed"), [(2, False), (4, False), (5, True), (40, True)])
def test_a_handful_of_tasks_that_all_flip_is_no_certainty(tasks: int, failed: bool) -> None:
    """As the sign test has it: 5 of 5 have p = 1/16, 4 of 4 have 1/8."""
    found = success(side(*[[1.0]] * tasks), side(*[[0.0]] * tasks))
    assert (found.drop, found.failed) == (1.0, failed)
    assert found.interval.low < 1.0


def test_what_no_difference_at_all_leaves_open_is_said() -> None:
    """Two tasks, one trial each, nothing changed: 0, 0, 1, -1 have s² = 2/3, t(3) = 3.182446."""
    found = success(side([1.0], [0.0]), side([1.0], [0.0]))
    half = 3.182446305 * (2 / 3 / 4) ** 0.5
    assert (found.interval.low, found.interval.high) == pytest.approx((-min(1, half), min(1, half)))
    assert found.cannot_rule_out
    assert not success(side(*[[1.0] * 5] * 60), side(*[[1.0] * 5] * 60)).cannot_rule_out


def test_k_is_what_some_task_has_trials_for_on_both_sides() -> None:
    before, after = side([1, 1, 1], [1], [1, 0]), side([1], [1, 1, 1], [1, 0])
    assert decide(before, after, Metric.PASS_AT_K, Rule(max_missing=1), 1).k == 1
    assert largest_k(before, after) == 2
    assert largest_k(before, {}) == 1
