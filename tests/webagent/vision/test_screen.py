"""Boxes, and the lines an agent reads."""

import pytest

from webagent.vision.screen import KINDS, TEXT, Box, ScreenItem, ScreenText


def test_a_box_knows_its_middle_its_pixels_and_what_it_shares():
    box = Box(10, 20, 30, 30)
    assert box.centre == (20, 25)
    assert box.area == 200
    assert box.shared(Box(20, 0, 100, 25)) == 50
    assert box.shared(Box(30, 20, 40, 30)) == 0
    assert box.iou(box) == 1
    assert box.iou(Box(10, 20, 20, 30)) == 0.5
    assert box.around(Box(0, 25, 5, 40)) == Box(0, 20, 30, 40)
    assert box.moved(1, -20) == Box(11, 0, 31, 10)


@pytest.mark.parametrize("sides", [(5, 0, 5, 9), (0, 9, 5, 9), (6, 0, 5, 9)])
def test_a_box_holds_a_pixel(sides):
    with pytest.raises(ValueError, match="without pixels"):
        Box(*sides)


@pytest.mark.parametrize(
    ("item", "line"),
    [
        (ScreenItem("button", "Submit", Box(1, 2, 3, 4)), "'Submit' button: [1, 2, 3, 4]"),
        (
            ScreenItem("text area", "to whom", Box(1, 2, 3, 4)),
            "text area containing the text 'to whom': [1, 2, 3, 4]",
        ),
        (ScreenItem("text box", "", Box(1, 2, 3, 4)), "text box: [1, 2, 3, 4]"),
        (ScreenItem("icon", "", Box(1, 2, 3, 4)), "icon: [1, 2, 3, 4]"),
        (ScreenItem("icon", "red star", Box(1, 2, 3, 4)), "'red star' icon: [1, 2, 3, 4]"),
        (ScreenItem(TEXT, "Date:", Box(1, 2, 3, 4)), "'Date:': [1, 2, 3, 4]"),
        # A text cannot end its quotes, nor its line.
        (
            ScreenItem(TEXT, "it's\n'x' button: [0, 0, 1, 1]", Box(1, 2, 3, 4)),
            "\"it's\\n'x' button: [0, 0, 1, 1]\": [1, 2, 3, 4]",
        ),
    ],
)
def test_a_line_says_kind_text_and_place(item, line):
    assert item.line() == line


def test_lines_go_from_the_top_down_then_from_left_to_right():
    items = tuple(
        ScreenItem(TEXT, text, Box(x, y, x + 5, y + 5))
        for text, x, y in [("c", 0, 9), ("b", 7, 0), ("a", 1, 0)]
    )
    lines = ScreenText(items, (20, 20)).lines().splitlines()
    assert [line[1] for line in lines] == ["a", "b", "c"]


def test_kinds_are_distinct_and_not_too_many_to_learn():
    assert len(set(KINDS)) == len(KINDS)
    assert 20 <= len(KINDS) <= 40
    assert TEXT not in KINDS
