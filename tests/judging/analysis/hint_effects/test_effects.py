"""What a cell counts, by hand: gains and losses apart, and tasks with a missing trial left out."""

from math import sqrt

import pytest

from judging.analysis.experiments.population import RunResult
from judging.analysis.hint_effects.reading import Cell, Side, TaskEffect
from judging.statistics.comparison import mean_difference
from judging.statistics.figures import Interval, Reason, Undefined

WORDS = {"s": RunResult.SUCCESS, "f": RunResult.FAILURE, "e": RunResult.ERROR, "-": RunResult.NONE}


def side(trials: str) -> Side:
    return Side({number: WORDS[each] for number, each in enumerate(trials, start=1)})


def effect(task: int, without: str, hinted: str) -> TaskEffect:
    return TaskEffect(task, 3, side(without), side(hinted))


def cell(*tasks: tuple[str, str]) -> Cell:
    return Cell([effect(number, *each) for number, each in enumerate(tasks)], 3)


def test_gains_and_losses_are_summed_apart() -> None:
    found = cell(("sff", "sss"), ("sss", "fff"), ("fff", "sff"), ("ssf", "fss"))

    assert [each.gained for each in found.complete] == [2, -3, 1, 0]
    assert (found.improvements, found.improved) == (3, 2)
    assert (found.deteriorations, found.worsened) == (3, 1)
    assert found.difference.value == 0
    assert [each.task for each in found.changed] == [1, 0, 2]
    assert [each.task for each in found.unchanged] == [3]


def test_best_of_three_asks_whether_any_trial_succeeded() -> None:
    found = cell(("sff", "sss"), ("sss", "fff"), ("fff", "sff"), ("fff", "sss"))

    assert [each.best for each in found.complete] == [0, -1, 1, 1]
    assert found.best.value == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("without", "hinted", "reason"),
    [
        ("sfe", "sss", {"error": 1}),
        ("sff", "s-e", {"none": 1, "error": 1}),
        ("sff", "ss", {"missing": 1}),
        ("", "", {"missing": 6}),
    ],
)
def test_a_task_with_a_trial_without_a_verdict_is_left_out_whole(
    without: str, hinted: str, reason: dict[str, int]
) -> None:
    found = cell(("sff", "sss"), (without, hinted))

    assert (found.n, found.improvements) == (1, 2)
    assert [each.task for each in found.left_out] == [1]
    assert found.undecided == reason


def test_students_interval_by_hand() -> None:
    found = mean_difference([1 / 3, 2 / 3, -1 / 3, 0])

    assert isinstance(found.interval, Interval)
    mean = 1 / 6
    deviation = sqrt(sum((x - mean) ** 2 for x in (1 / 3, 2 / 3, -1 / 3, 0)) / 3)
    half = 3.182446305 * deviation / 2  # the 97.5 % point of t with 3 degrees of freedom
    assert found.value == pytest.approx(mean)
    assert (found.interval.low, found.interval.high) == pytest.approx((mean - half, mean + half))


def test_an_interval_ends_where_a_difference_of_rates_must() -> None:
    found = cell(("fff", "sss"), ("fff", "sff"), ("sff", "sss")).difference.interval

    assert isinstance(found, Interval)
    assert (found.low < 0, found.high) == (True, 1)


def test_one_task_has_no_interval_and_none_no_figure() -> None:
    assert mean_difference([1.0]).interval == Undefined(Reason.ONE_CLUSTER)
    assert mean_difference([]).value == Undefined(Reason.NO_RUNS)
    assert cell().improvements == 0
