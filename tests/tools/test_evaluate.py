"""Average precision and recall, on cases worked out by hand."""

import pytest

from tools.detector.evaluate import Shown, average_precision, figures, matched, recall_of_tasks
from webagent.vision.screen import Box, Element


def at(x: int, confidence: float = 1.0, kind: str = "button") -> Element:
    return Element(kind, Box(x, 0, x + 10, 10), confidence)


def test_each_element_is_matched_once_by_the_surest():
    there = [at(0), at(100)]
    found = [at(1, 0.5), at(0, 0.9), at(101, 0.7), at(200, 0.8)]
    # By confidence: 0.9 takes the first, 0.8 nothing, 0.7 the second, 0.5 comes too late.
    assert matched(there, found, named=True) == [there[0], None, there[1], None]


def test_a_box_of_another_kind_is_a_match_only_without_names():
    assert matched([at(0)], [at(0, kind="link")], named=True) == [None]
    assert matched([at(0)], [at(0, kind="link")], named=False) == [at(0)]


def test_less_than_half_in_common_is_no_match():
    assert matched([at(0)], [at(4)], named=True) == [None]  # 60 of 140 pixels
    assert matched([at(0)], [at(3)], named=True) == [at(0)]  # 70 of 130 pixels


def test_average_precision_is_the_area_under_the_curve():
    # Hit, miss, hit of two there: precisions 1 and 2/3, each over half of the recall.
    shown = [Shown([at(0), at(100)], [at(0, 0.9), at(50, 0.8), at(100, 0.7)])]
    assert average_precision(shown) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision([Shown([at(0)], [])]) == 0


def test_figures_count_what_is_sure_enough():
    shown = [Shown([at(0), at(100, kind="link")], [at(0, 0.9), at(100, 0.6), at(50, 0.1)])]
    result = figures(shown, 0.5)
    assert (result["recall"], result["recall_of_boxes"], result["precision"]) == (0.5, 1.0, 0.5)
    assert result["mAP"] == 0.5
    assert result["kinds"] == {
        "button": {"elements": 1, "average_precision": 1.0, "recall": 1.0},
        "link": {"elements": 1, "average_precision": 0.0, "recall": 0.0},
    }


def test_tasks_without_elements_have_no_recall():
    shown = {"a": [Shown([at(0)], [at(0)])], "b": [Shown([], [at(0)])]}
    assert recall_of_tasks(shown, 0.5) == {"a": 1.0}
