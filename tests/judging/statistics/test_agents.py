"""Success rates, repeated trials, progress, and how two measurements correspond."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.statistics.correspondence import agreement, differences, pearson
from judging.statistics.figures import Interval, Reason, Undefined
from judging.statistics.progress import adjusted_score
from judging.statistics.success import (
    clustered_mean,
    mean,
    mean_pass_at_k,
    mean_pass_hat_k,
    pass_at_k,
    pass_hat_k,
    success_rate,
)
from webagent.measures import normal_quantile

REPEATS = [1.0 if task < 9 else 0.0 for task in range(25) for _ in range(3)]
TASKS = [task for task in range(25) for _ in range(3)]


def test_identical_repeats_add_nothing_but_the_naive_error_shrinks():
    assert mean(REPEATS).standard_error == pytest.approx(0.056, abs=5e-4)
    assert clustered_mean(REPEATS, TASKS).standard_error == pytest.approx(0.098, abs=5e-4)


def test_single_trials():
    found = success_rate(9, 25)
    assert found.value == 0.36
    assert found.standard_error == pytest.approx(0.096)
    assert success_rate(0, 0).value == Undefined(Reason.NO_RUNS)
    with pytest.raises(ValueError, match="no share"):
        success_rate(2, 1)


@given(st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 4)), min_size=6, max_size=40))
def test_standard_errors_as_statsmodels_has_them(rows):
    from statsmodels.regression.linear_model import OLS

    values = np.array([value for value, _ in rows])
    tasks = [task for _, task in rows]
    model = OLS(values, np.ones(len(values)))
    assert mean(list(values)).standard_error == pytest.approx(model.fit().bse[0], abs=1e-9)
    found = clustered_mean(list(values), tasks)
    if len(set(tasks)) == 1:
        assert found.standard_error == Undefined(Reason.ONE_CLUSTER)
    else:
        robust = model.fit(cov_type="cluster", cov_kwds={"groups": np.array(tasks)})
        assert found.standard_error == pytest.approx(robust.bse[0], abs=1e-9)


def test_means_of_too_little():
    assert mean([]).value == Undefined(Reason.NO_RUNS)
    assert clustered_mean([], []).standard_error == Undefined(Reason.NO_RUNS)
    assert mean([0.5]).value == 0.5
    assert mean([0.5]).standard_error == Undefined(Reason.TOO_FEW_RUNS)


def test_pass_at_k_known_value():
    assert pass_at_k(5, 2, 2) == pytest.approx(0.70)
    assert pass_hat_k(5, 2, 2) == pytest.approx(0.10)


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), st.data())
def test_pass_at_k_is_the_average_over_all_choices(pair, data):
    trials, successes = pair
    k = data.draw(st.integers(1, trials))
    outcomes = [True] * successes + [False] * (trials - successes)
    choices = list(combinations(outcomes, k))
    assert pass_at_k(trials, successes, k) == pytest.approx(np.mean([any(c) for c in choices]))
    assert pass_hat_k(trials, successes, k) == pytest.approx(np.mean([all(c) for c in choices]))


def test_pass_at_k_over_tasks():
    found = mean_pass_at_k([(5, 2), (5, 5), (1, 1)], 2)
    assert found.value == pytest.approx((0.7 + 1) / 2)
    assert (found.tasks, found.left_out) == (2, 1)
    assert mean_pass_hat_k([(5, 2), (5, 5)], 2).value == pytest.approx((0.1 + 1) / 2)
    assert mean_pass_at_k([(1, 1)], 2).value == Undefined(Reason.TOO_FEW_TRIALS)
    assert mean_pass_at_k([], 2).value == Undefined(Reason.NO_RUNS)
    assert pass_hat_k(1, 1, 2) == Undefined(Reason.TOO_FEW_TRIALS)
    with pytest.raises(ValueError, match="no such trials"):
        pass_at_k(3, 4, 1)


def test_adjusted_score():
    assert adjusted_score(0.5, 0.4) == pytest.approx(0.7 * 0.5 + 0.3 * 0.4)
    assert adjusted_score(0.5, 0.4, alpha=1) == 0.5
    assert adjusted_score(Undefined(Reason.NO_RUNS), 0.4) == Undefined(Reason.NO_RUNS)
    assert adjusted_score(0.4, Undefined(Reason.NO_RUNS)) == Undefined(Reason.NO_RUNS)
    with pytest.raises(ValueError, match="alpha"):
        adjusted_score(0.5, 0.4, alpha=2)
    with pytest.raises(ValueError, match="shares"):
        adjusted_score(0.5, 40)


pairs = st.lists(
    st.tuples(st.integers(0, 100).map(float), st.integers(0, 100).map(float)),
    min_size=4,
    max_size=30,
)


@given(pairs)
def test_pearson_as_scipy_has_it(rows):
    from scipy.stats import pearsonr

    first, second = [a for a, _ in rows], [b for _, b in rows]
    found = pearson(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert found.r == Undefined(Reason.NO_SPREAD)
        return
    expected = pearsonr(first, second)
    assert found.r == pytest.approx(expected.statistic)
    assert isinstance(found.interval, Interval)
    if abs(expected.statistic) < 0.999:
        ci = expected.confidence_interval(0.95)
        assert (found.interval.low, found.interval.high) == pytest.approx((ci.low, ci.high))


def test_pearson_of_too_little():
    assert pearson([], []).r == Undefined(Reason.NO_RUNS)
    assert pearson([1], [2]).r == Undefined(Reason.TOO_FEW_RUNS)
    three = pearson([1, 2, 3], [1, 2, 4])
    assert isinstance(three.r, float)
    assert three.interval == Undefined(Reason.TOO_FEW_POINTS)
    perfect = pearson([1, 2, 3, 4], [2, 4, 6, 8])
    assert isinstance(perfect.interval, Interval)
    assert perfect.r == pytest.approx(1)
    assert perfect.interval.low == pytest.approx(1)
    with pytest.raises(ValueError, match="against"):
        pearson([1, 2], [1])


def test_a_constant_offset_escapes_r_and_not_the_bias():
    people, judge = [10.0, 20, 30, 40], [20.0, 30, 40, 50]
    assert pearson(people, judge).r == pytest.approx(1)
    found = differences(people, judge)
    assert (found.bias, found.mean_absolute_error) == (10, 10)
    assert (found.lower_limit, found.upper_limit) == (10, 10)


def test_limits_of_agreement_by_hand():
    found = differences([0.0, 0, 0, 0], [1.0, -1, 3, -3])
    deviation = np.sqrt(20 / 3)
    assert (found.bias, found.mean_absolute_error) == (0, 2)
    assert found.upper_limit == pytest.approx(1.959964 * deviation, rel=1e-6)
    assert found.lower_limit == pytest.approx(-1.959964 * deviation, rel=1e-6)
    assert differences([1], [2]).upper_limit == Undefined(Reason.TOO_FEW_RUNS)
    assert differences([], []).bias == Undefined(Reason.NO_RUNS)


def test_agreement():
    assert agreement([0, 50, 100], [0, 60, 100]).value == pytest.approx(2 / 3)
    assert agreement([0, 50, 100], [0, 60, 100], tolerance=10).value == 1
    assert agreement([0.1 + 0.2], [0.3]).count == 1
    assert agreement([], []).value == Undefined(Reason.NO_RUNS)
    with pytest.raises(ValueError, match="negative"):
        agreement([1], [1], tolerance=-1)


def test_a_level_is_a_share():
    assert normal_quantile(0.95) == pytest.approx(1.959964, rel=1e-6)
    with pytest.raises(ValueError, match="between 0 and 1"):
        normal_quantile(95)
