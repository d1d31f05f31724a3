"""Progress rates: published figures, hand computations, and what holds of all of them."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judging.analysis.gate.decision import mean_drop
from judging.analysis.progress.correspondence import Costs
from judging.statistics.comparison import difference_of_shares, mean_difference, paired_difference
from judging.statistics.correspondence import (
    agreement,
    differences,
    differences_of_equals,
    intraclass,
    pearson,
)
from judging.statistics.figures import Figure, Interval, Reason, Share, Undefined
from judging.statistics.progress import (
    MilestoneMatch,
    TaskProgress,
    adjusted,
    held,
    hidden_progress,
    progress_curve,
    reached,
)

WRIGHT = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
MINI = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]
"""Peak flow of 17 people by two meters: Bland and Altman (1986), The Lancet 327, table 1."""

rates = st.floats(0, 1).map(lambda value: round(value, 3))
curves = st.lists(st.lists(rates, max_size=8), min_size=1, max_size=8)
pairs = st.lists(st.tuples(rates, rates), min_size=2, max_size=25)


def number(figure: Figure) -> float:
    assert isinstance(figure, float)
    return figure


def ends(interval: Interval | Undefined) -> tuple[float, float]:
    assert isinstance(interval, Interval)
    return interval.low, interval.high


def test_figures_of_bland_and_altman() -> None:
    found = differences(MINI, WRIGHT)
    assert number(found.bias) == pytest.approx(-2.1, abs=0.05)
    assert ends(found.bias_interval) == pytest.approx((-22.0, 17.8), abs=0.06)
    # The paper takes 2 for 1.96: -79.7 and 75.5.
    spread = (number(found.upper_limit) - number(found.lower_limit)) / (2 * 1.959964)
    assert spread == pytest.approx(38.8, abs=0.05)
    assert number(found.bias) - 2 * spread == pytest.approx(-79.7, abs=0.1)
    assert number(pearson(MINI, WRIGHT).r) == pytest.approx(0.94, abs=0.005)


@given(pairs)
def test_judge_and_people_change_places(rows: list[tuple[float, float]]) -> None:
    people, judge = [a for a, _ in rows], [b for _, b in rows]
    there, back = differences(people, judge), differences(judge, people)
    assert number(there.bias) == pytest.approx(-number(back.bias))
    assert number(there.upper_limit) == pytest.approx(-number(back.lower_limit))
    assert there.mean_absolute_error == pytest.approx(back.mean_absolute_error)
    assert abs(number(there.bias)) <= number(there.mean_absolute_error) + 1e-12
    assert agreement(people, judge, 0.1) == agreement(judge, people, 0.1)
    assert agreement(people, judge, 1.0).value == 1
    low, high = ends(there.bias_interval)
    assert low <= number(there.bias) <= high


@given(pairs, st.floats(-0.5, 0.5), st.floats(0.1, 3))
def test_r_hangs_on_neither_offset_nor_scale(
    rows: list[tuple[float, float]], offset: float, scale: float
) -> None:
    people, judge = [a for a, _ in rows], [b for _, b in rows]
    found = pearson(people, judge)
    moved = pearson(people, [offset + scale * value for value in judge])
    if isinstance(found.r, float) and isinstance(moved.r, float):
        assert moved.r == pytest.approx(found.r, abs=1e-6)
        assert -1 <= found.r <= 1
    if isinstance(found.interval, Interval) and isinstance(found.r, float):
        assert -1 <= found.interval.low <= found.r <= found.interval.high <= 1


@given(curves)
def test_curve_is_the_mean_of_its_runs(runs: list[list[float]]) -> None:
    curve = progress_curve(runs)
    assert [point.step for point in curve] == list(range(max(map(len, runs)) + 1))
    for point in curve:
        n = len(runs)
        assert point.reached == pytest.approx(sum(reached(r, point.step) for r in runs) / n)
        assert point.held == pytest.approx(sum(held(r, point.step) for r in runs) / n)
        assert point.going == sum(len(run) >= point.step for run in runs)
    heights = [point.reached for point in curve]
    assert heights == sorted(heights)
    assert all(point.held <= point.reached + 1e-12 for point in curve)


def test_curve_by_hand() -> None:
    curve = progress_curve([[0.5, 1.0, 0.5], [0.0]])
    assert [point.reached for point in curve] == [0, 0.25, 0.5, 0.5]
    assert [point.held for point in curve] == [0, 0.25, 0.5, 0.25]
    assert [point.going for point in curve] == [2, 2, 1, 1]
    assert progress_curve([]) == []
    assert reached([0.5, 1.0, 0.5], 1) == 0.5
    assert (reached([], 5), held([], 5), held([0.5], 0), held([0.5], 9)) == (0, 0, 0, 0.5)


def test_hidden_progress_by_hand() -> None:
    found = hidden_progress([1.0, 0.6, 0.2, 0.0], [True, False, False, False], [1, 2, 3, 4])
    assert number(found.value) == pytest.approx(0.45 - 0.25)
    assert hidden_progress([], [], []).value == Undefined(Reason.NO_RUNS)
    alone = hidden_progress([0.5, 0.5], [False, True], ["one", "one"])
    assert alone.interval == Undefined(Reason.ONE_CLUSTER)


def test_an_interval_of_few_tasks_is_students_and_ends_where_shares_do() -> None:
    """Gaps 0.5, 0.5, 0, 0 over three tasks: mean 0.25, task sums of deviations 0.5, -0.25, -0.25,
    SE² = 3/2 · 0.375 / 16, and t with 2 degrees of freedom is 4.30265273.
    """
    found = hidden_progress([0.5, 0.5, 0.0, 1.0], [False, False, False, True], "aabc")
    assert number(found.value) == pytest.approx(0.25)
    half = 4.30265273 * (1.5 * 0.375 / 16) ** 0.5
    assert ends(found.interval) == pytest.approx((0.25 - half, min(1.0, 0.25 + half)))
    wide = paired_difference([1.0, 1.0, 0.0], [1, 2, 3], largest=1)
    assert ends(wide.interval)[1] == 1.0
    assert ends(paired_difference([1.0, 1.0, 0.0], [1, 2, 3]).interval)[1] > 1.0


@given(pairs)
def test_people_have_no_order_between_them(rows: list[tuple[float, float]]) -> None:
    one, two = [a for a, _ in rows], [b for _, b in rows]
    swapped = [(b, a) if n % 2 else (a, b) for n, (a, b) in enumerate(rows)]
    three, four = [a for a, _ in swapped], [b for _, b in swapped]
    found, again = intraclass(one, two), intraclass(three, four)
    if isinstance(found.r, float):
        assert again.r == pytest.approx(found.r, abs=1e-9)
        doubled = pearson([*one, *two], [*two, *one]).r
        assert found.r == pytest.approx(number(doubled), abs=1e-6)
    assert differences_of_equals(one, two).upper_limit == pytest.approx(
        number(differences_of_equals(three, four).upper_limit)
    )


def test_limits_of_people_lie_around_0() -> None:
    """Gaps 1, -1, 2: s² = 6/3."""
    found = differences_of_equals([1, 3, 2], [2, 2, 4])
    limit = 1.959964 * 2**0.5
    assert found.bias == Undefined(Reason.NO_ORDER)
    assert number(found.upper_limit) == pytest.approx(limit, rel=1e-6)
    assert number(found.lower_limit) == pytest.approx(-limit, rel=1e-6)
    assert number(found.mean_absolute_error) == pytest.approx(4 / 3)
    assert intraclass([], []).r == Undefined(Reason.NO_RUNS)
    assert intraclass([1, 1], [1, 1]).r == Undefined(Reason.NO_SPREAD)
    assert differences_of_equals([], []).upper_limit == Undefined(Reason.NO_RUNS)


@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ((48, 80), (56, 70), 0.0524, 0.3339),
        ((3, 10), (9, 10), 0.1705, 0.8090),
        ((0, 10), (10, 10), 0.6075, 1.0000),
    ],
)
def test_differences_of_shares_of_the_paper(
    first: tuple[int, int], second: tuple[int, int], low: float, high: float
) -> None:
    """Newcombe (1998), table II, method 10."""
    found = difference_of_shares(Share(*first), Share(*second))
    assert ends(found.interval) == pytest.approx((low, high), abs=0.00005)


def test_one_difference_a_task_is_as_scipy_has_it() -> None:
    from scipy.stats import ttest_1samp

    gaps = [0.2, -0.1, 0.4, 0.05, 0.0, 0.3]
    wanted = ttest_1samp(gaps, 0.0).confidence_interval(0.95)
    for found in (mean_difference(gaps), paired_difference(gaps, range(6))):
        assert ends(found.interval) == pytest.approx((wanted.low, wanted.high))
    assert ends(mean_drop(gaps)[1]) == pytest.approx((wanted.low, wanted.high))


def test_a_label_without_a_time_is_a_label_all_the_same() -> None:
    """Two runs with two labels each, of which three were timed: 90 s at $20 an hour is $0.50."""
    found = Costs([Decimal("0.02"), None, Decimal(0)], [60.0, 90.0, 120.0], [2, 2], 20.0)
    assert [found.label, found.people] == [0.5, 1.0]
    assert (found.judged, found.priced, found.kept, found.labels) == (0.02, 2, 1, 3)
    assert found.times == pytest.approx(50)
    assert Costs([], [], [], 20.0).people is None


def test_gaps_that_are_all_alike_claim_no_certainty() -> None:
    found = hidden_progress([0.3, 0.3, 0.3], [False] * 3, [1, 2, 3])
    assert number(found.value) == pytest.approx(0.3)
    assert found.interval == Undefined(Reason.ALL_ALIKE)


def test_bias_ends_where_differences_do_and_limits_of_agreement_need_not() -> None:
    found = differences([0.0, 0.0, 1.0], [1.0, 1.0, 1.0], largest=1)
    assert ends(found.bias_interval)[1] == 1.0
    assert number(found.upper_limit) > 1.0


def test_match_of_a_milestone() -> None:
    found = MilestoneMatch(both=3, judge_alone=1, people_alone=2, neither=4)
    assert found.precision.value == pytest.approx(3 / 4)
    assert found.recall.value == pytest.approx(3 / 5)
    assert found.agreement.value == pytest.approx(7 / 10)
    silent = MilestoneMatch(both=0, judge_alone=0, people_alone=1, neither=0)
    assert silent.precision.value == Undefined(Reason.NOTHING_CREDITED)
    unticked = MilestoneMatch(both=0, judge_alone=1, people_alone=0, neither=0)
    assert unticked.recall.value == Undefined(Reason.NOTHING_TICKED)


def task(trials: int, successes: int, *failures: float) -> TaskProgress:
    return TaskProgress(trials=trials, successes=successes, failures=failures)


def test_adjusted_score_by_hand() -> None:
    tasks = [task(2, 1, 0.5), task(2, 0, 0.2, 0.8), task(2, 2)]
    found = adjusted(tasks)
    assert found.pass_at_k.value == pytest.approx(0.5)
    assert number(found.failure_progress) == pytest.approx(0.5)
    assert found.failures == 3
    assert number(found.value) == pytest.approx(0.7 * 0.5 + 0.3 * 0.5)
    twice = adjusted(tasks, k=2, alpha=0.5)
    assert number(twice.value) == pytest.approx(0.5 * (2 / 3) + 0.5 * 0.5)
    low, high = ends(twice.interval)
    assert 0 <= low <= number(twice.value) <= high <= 1


def test_adjusted_score_without_failures_or_without_their_progress() -> None:
    flawless = adjusted([task(1, 1), task(1, 1)])
    assert (flawless.value, flawless.failure_progress) == (1, Undefined(Reason.NO_FAILED_RUNS))
    assert adjusted([task(1, 0)]).value == Undefined(Reason.NO_KNOWN_PROGRESS)
    # A resample of failures of which nothing is told has no score: it is none of progress 1.
    half = adjusted([task(1, 0, 0.5), task(1, 0)]).interval
    assert isinstance(half, Interval)
    assert (half.low, half.high) == pytest.approx((0.15, 0.15))
    assert adjusted([]).value == Undefined(Reason.NO_RUNS)
    assert adjusted([task(1, 0, 0.4)], k=2).value == Undefined(Reason.TOO_FEW_TRIALS)


@settings(max_examples=15)  # each draws thousands of resamples
@given(
    st.lists(
        st.integers(1, 4).flatmap(
            lambda n: st.integers(0, n).flatmap(
                lambda c: st.lists(rates, min_size=n - c, max_size=n - c).map(
                    lambda failures: task(n, c, *failures)
                )
            )
        ),
        min_size=1,
        max_size=8,
    ),
    st.floats(0, 1),
)
def test_adjusted_score_lies_between_its_parts(tasks: list[TaskProgress], alpha: float) -> None:
    found = adjusted(tasks, alpha=alpha)
    passed = number(found.pass_at_k.value)
    progress = found.failure_progress
    other = 1.0 if isinstance(progress, Undefined) else progress
    low, high = min(passed, other), max(passed, other)
    assert low - 1e-9 <= number(found.value) <= high + 1e-9
    assert number(adjusted(tasks, alpha=1).value) == pytest.approx(passed)
