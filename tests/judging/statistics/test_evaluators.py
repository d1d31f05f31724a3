"""Confusion matrices, shares and comparisons, against published and hand-derived figures."""

import gc
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judging.statistics.bootstrap import bootstrap_interval, totals_by_cluster
from judging.statistics.comparison import flips, holm, mcnemar
from judging.statistics.confusion import (
    BOOTSTRAPPED,
    Cell,
    ConfusionMatrix,
    cell,
    evaluator_intervals,
)
from judging.statistics.figures import (
    Interval,
    Reason,
    Share,
    Undefined,
    rogan_gladen,
    rogan_gladen_interval,
    wilson_interval,
)

BEFORE = ConfusionMatrix(tp=23, fn=16, tn=36, fp=0)
AFTER = ConfusionMatrix(tp=40, fn=1, tn=34, fp=0)


def test_the_source_papers_table():
    assert (BEFORE.runs, AFTER.runs) == (75, 75)
    assert BEFORE.fn_share.value == pytest.approx(0.213, abs=5e-4)
    assert AFTER.fn_share.value == pytest.approx(0.013, abs=5e-4)
    assert BEFORE.fpr.value == AFTER.fpr.value == 0
    # Of the successes, which is another figure: 16/39 and 1/41
    assert BEFORE.fnr.value == pytest.approx(16 / 39)
    assert AFTER.fnr.value == pytest.approx(1 / 41)
    interval = BEFORE.fn_share.interval
    assert isinstance(interval, Interval)
    assert (interval.low, interval.high) == pytest.approx((0.136, 0.319), abs=5e-4)


def test_every_rate_of_a_matrix_derived_by_hand():
    matrix = ConfusionMatrix(tp=6, fn=2, tn=9, fp=3)
    assert matrix.precision.value == pytest.approx(6 / 9)
    assert matrix.recall.value == pytest.approx(6 / 8)
    assert matrix.specificity.value == pytest.approx(9 / 12)
    assert matrix.npv.value == pytest.approx(9 / 11)
    assert matrix.accuracy.value == pytest.approx(15 / 20)
    assert matrix.fn_share.value == pytest.approx(2 / 20)
    assert matrix.fnr.value == pytest.approx(2 / 8)
    assert matrix.fpr.value == pytest.approx(3 / 12)
    assert matrix.prevalence.value == pytest.approx(8 / 20)
    assert matrix.pass_rate.value == pytest.approx(9 / 20)
    assert matrix.f1 == pytest.approx(12 / 17)
    # po = .75, pe = .4·.45 + .6·.55 = .51
    assert matrix.kappa == pytest.approx((0.75 - 0.51) / (1 - 0.51))


def test_no_verdict_is_a_cell_of_its_own():
    pairs = [
        (True, True),
        (True, None),
        (False, None),
        (False, False),
        (False, True),
        (True, False),
    ]
    matrix = ConfusionMatrix.of(pairs)
    assert (matrix.no_verdict, matrix.decided, matrix.runs) == (2, 4, 6)
    assert matrix.coverage.value == pytest.approx(4 / 6)
    assert matrix.prevalence.value == pytest.approx(3 / 6)
    assert matrix.fn_share.value == pytest.approx(1 / 6)
    assert matrix.recall.value == pytest.approx(1 / 2)


def test_every_missing_figure_says_why():
    empty = ConfusionMatrix(tp=0, fn=0, tn=0, fp=0)
    silent = ConfusionMatrix(tp=0, fn=0, tn=0, fp=0, no_verdict_on_success=3)
    failing = ConfusionMatrix(tp=0, fn=0, tn=5, fp=0)
    passing = ConfusionMatrix(tp=5, fn=0, tn=0, fp=0)
    assert empty.fn_share.value == Undefined(Reason.NO_RUNS)
    assert empty.fn_share.interval == Undefined(Reason.NO_RUNS)
    assert silent.accuracy.value == Undefined(Reason.NO_VERDICTS)
    assert silent.fn_share.value == silent.fn_share.interval == Undefined(Reason.NO_VERDICTS)
    assert silent.f1 == Undefined(Reason.NO_VERDICTS)
    assert silent.kappa == Undefined(Reason.NO_VERDICTS)
    assert silent.coverage.value == 0
    assert failing.precision.value == Undefined(Reason.NOTHING_PASSED)
    assert failing.recall.value == Undefined(Reason.NO_SUCCESSES)
    assert failing.f1 == Undefined(Reason.NO_POSITIVES)
    assert failing.kappa == Undefined(Reason.ONE_CLASS)
    assert passing.npv.value == Undefined(Reason.NOTHING_FAILED)
    assert passing.specificity.value == Undefined(Reason.NO_FAILURES)
    assert passing.f1 == 1


def test_impossible_counts_are_refused():
    with pytest.raises(ValueError, match="negative"):
        ConfusionMatrix(tp=-1, fn=0, tn=0, fp=0)
    with pytest.raises(ValueError, match="no share"):
        Share(3, 2)
    with pytest.raises(ValueError, match="no share"):
        wilson_interval(3, 2)


@pytest.mark.slow
@given(st.integers(0, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_as_statsmodels_has_it(pair):
    from statsmodels.stats.proportion import proportion_confint

    count, total = pair
    found = wilson_interval(count, total)
    if not total:
        assert found == Undefined(Reason.NO_RUNS)
        return
    assert isinstance(found, Interval)
    low, high = proportion_confint(count, total, alpha=0.05, method="wilson")
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    assert 0 <= found.low <= count / total <= found.high <= 1


def test_wilson_of_nothing_found_is_not_zero_wide():
    found = wilson_interval(0, 20)
    assert isinstance(found, Interval)
    assert (found.low, found.high) == pytest.approx((0, 0.161), abs=5e-4)


def test_mcnemar_without_discordant_runs_is_one():
    assert mcnemar(0, 0).p_value == 1.0


def test_mcnemar_of_the_source_papers_size():
    # 15 repaired, none broken: 2 · (1/2)^15
    assert mcnemar(0, 15).p_value == pytest.approx(2 * 0.5**15)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_as_the_libraries_have_it(only_first, only_second):
    from scipy.stats import binomtest
    from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

    found = mcnemar(only_first, only_second).p_value
    table = [[5, only_first], [only_second, 7]]
    assert found == pytest.approx(statsmodels_mcnemar(table, exact=True).pvalue, abs=1e-12)
    if only_first + only_second:
        expected = binomtest(only_first, only_first + only_second, 0.5).pvalue
        assert found == pytest.approx(expected, abs=1e-12)


def test_flips_are_counted_from_cell_to_cell():
    runs = [
        (True, False, True),
        (True, False, True),
        (False, False, True),
        (True, True, True),
        (True, None, True),
        (False, True, None),
    ]
    table = flips(runs)
    assert table[Cell.FN, Cell.TP] == 2
    assert table[Cell.TN, Cell.FP] == 1
    assert table[Cell.TP, Cell.TP] == 1
    assert table[Cell.NO_VERDICT_ON_SUCCESS, Cell.TP] == 1
    assert table[Cell.FP, Cell.NO_VERDICT_ON_FAILURE] == 1
    assert sum(table.values()) == len(runs)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_as_statsmodels_has_it(p_values):
    from statsmodels.stats.multitest import multipletests

    with mock.patch.object(gc, "collect"):  # the library does so at every call
        expected = multipletests(p_values, method="holm")[1] if p_values else []
    assert holm(p_values) == pytest.approx(list(expected))


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_rogan_gladen_recovers_the_rate_behind_a_known_judge():
    true_rate, tpr, tnr = 0.4, 0.8, 0.9
    apparent = true_rate * tpr + (1 - true_rate) * (1 - tnr)
    assert rogan_gladen(apparent, tpr, tnr) == pytest.approx(true_rate)


def test_interval_behind_a_judge_covers_the_truth_as_often_as_it_says():
    """400 studies: 60 successes and 60 failures judged, then 200 runs of which 40 % succeed."""
    generator = np.random.default_rng(11)
    truth, covered = 0.4, 0
    for _ in range(400):
        found = rogan_gladen_interval(
            Share(int(generator.binomial(200, truth * 0.8 + (1 - truth) * 0.1)), 200),
            Share(int(generator.binomial(60, 0.8)), 60),
            Share(int(generator.binomial(60, 0.9)), 60),
        )
        assert isinstance(found, Interval)
        covered += found.low <= truth <= found.high
    assert 0.92 <= covered / 400 <= 0.98


def test_interval_behind_a_judge_says_why_there_is_none():
    weak = rogan_gladen_interval(Share(5, 10), Share(6, 10), Share(5, 10))
    assert weak == Undefined(Reason.WEAK_JUDGE)
    assert rogan_gladen_interval(Share(0, 0), Share(9, 10), Share(9, 10)) == Undefined(
        Reason.NO_RUNS
    )
    few = rogan_gladen_interval(Share(1, 1), Share(1, 1), Share(0, 0, Reason.NO_FAILURES))
    assert few == Undefined(Reason.NO_FAILURES)


def test_rogan_gladen_is_guarded():
    assert rogan_gladen(0.5, 0.6, 0.5) == Undefined(Reason.WEAK_JUDGE)
    assert rogan_gladen(0.5, Undefined(Reason.NO_SUCCESSES), 0.9) == Undefined(Reason.NO_SUCCESSES)
    assert rogan_gladen(0.5, 0.9, Undefined(Reason.NO_FAILURES)) == Undefined(Reason.NO_FAILURES)
    assert rogan_gladen(0.02, 0.9, 0.9) == 0.0
    assert rogan_gladen(1.0, 0.9, 0.9) == 1.0


def interval_of(
    figure: str, pairs: Sequence[Any], tasks: Sequence[Any], **drawing: int
) -> Interval | Undefined:
    """The figure's interval, from the runs of each task."""
    by_task = defaultdict(list)
    for pair, task in zip(pairs, tasks, strict=True):
        by_task[task].append(pair)
    counts = Counter(map(ConfusionMatrix.of, by_task.values()))
    return evaluator_intervals(counts, [figure], **drawing)[figure]


PAIRS = [(True, True)] * 23 + [(True, False)] * 16 + [(False, False)] * 36


@pytest.mark.parametrize("figure", BOOTSTRAPPED)
def test_intervals_hold_their_figure_and_repeat_by_seed(figure):
    pairs = [*PAIRS, (False, True), (False, True), (True, None)]
    tasks = [index // 2 for index in range(len(pairs))]
    found = interval_of(figure, pairs, tasks, seed=7)
    again = interval_of(figure, pairs, tasks, seed=7)
    assert isinstance(found, Interval)
    assert found == again
    matrix = ConfusionMatrix.of(pairs)
    value = getattr(matrix, figure)
    value = value.value if isinstance(value, Share) else value
    assert isinstance(value, float)
    assert found.low < value < found.high


def test_bootstrap_of_single_trials_is_close_to_wilson():
    found = interval_of("fn_share", PAIRS, list(range(75)), seed=1, resamples=20_000)
    assert isinstance(found, Interval)
    assert (found.low, found.high) == pytest.approx((0.136, 0.319), abs=0.02)


def test_drawing_kinds_of_tasks_is_drawing_tasks():
    """The same 200 tasks, once of few kinds, once made all different by a cell nobody reads."""
    kinds = np.array([[3.0, 1.0]] * 120 + [[0.0, 4.0]] * 60 + [[2.0, 2.0]] * 20)
    different = np.column_stack([kinds, np.arange(200)])
    together, one_by_one = (
        bootstrap_interval(totals, lambda s: s[:, 0] / (s[:, 0] + s[:, 1]), seed=3, resamples=8000)
        for totals in (kinds, different)
    )
    assert isinstance(together, Interval)
    assert isinstance(one_by_one, Interval)
    assert together.low == pytest.approx(one_by_one.low, abs=0.005)
    assert together.high == pytest.approx(one_by_one.high, abs=0.005)
    # By hand: 0.5 ± 1.96 · sqrt(mean squared deviation of a task from the ratio) / (4 · sqrt(200))
    deviation = ((120 * (3 - 2) ** 2 + 60 * (0 - 2) ** 2 + 20 * (2 - 2) ** 2) / 200) ** 0.5
    assert together.high - 0.5 == pytest.approx(1.96 * deviation / 4 / 200**0.5, abs=0.005)


def test_bootstrap_says_why_there_is_none():
    assert interval_of("f1", [], [], seed=1) == Undefined(Reason.NO_RUNS)
    assert interval_of("f1", PAIRS, ["t"] * 75, seed=1) == Undefined(Reason.ONE_CLUSTER)
    failing = [(False, False)] * 10
    assert interval_of("f1", failing, list(range(10)), seed=1) == Undefined(Reason.NEVER_DEFINED)


def test_clusters_widen_the_interval_when_repeats_agree():
    pairs = [(True, index % 3 == 0) for index in range(30) for _ in range(4)]
    tasks = [index for index in range(30) for _ in range(4)]
    by_task = interval_of("recall", pairs, tasks, seed=3)
    by_run = interval_of("recall", pairs, list(range(120)), seed=3)
    assert isinstance(by_task, Interval)
    assert isinstance(by_run, Interval)
    assert by_task.high - by_task.low > 1.6 * (by_run.high - by_run.low)


def test_intervals_from_counts_by_task_are_those_from_the_runs():
    pairs = [*PAIRS, (False, True), (False, True), (True, None)]
    tasks = [index // 2 for index in range(len(pairs))]
    by_task = Counter(
        ConfusionMatrix.of(pairs[index : index + 2]) for index in range(0, len(pairs), 2)
    )
    columns = list(Cell)
    cells = np.zeros((len(pairs), len(columns)))
    for row, pair in enumerate(pairs):
        cells[row, columns.index(cell(*pair))] = 1
    one_by_one = bootstrap_interval(
        totals_by_cluster(cells, tasks), lambda s: s[:, 1] / s.sum(axis=1), seed=7
    )
    assert evaluator_intervals(by_task, ["fn_share"], seed=7) == {"fn_share": one_by_one}
    assert set(evaluator_intervals({}, seed=7).values()) == {Undefined(Reason.NO_RUNS)}
