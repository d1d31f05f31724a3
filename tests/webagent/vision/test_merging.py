"""Text joins the element it is in."""

import random
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from webagent.vision.reading import TEXTLESS, merged
from webagent.vision.screen import KINDS, TEXT, Box, Element, ScreenItem, TextLine, in_reading_order


def line(text: str, x: int, y: int, *, words: Sequence[TextLine] = ()) -> TextLine:
    return TextLine(text, Box(x, y, x + 6 * len(text), y + 10), 0.9, tuple(words))


def element(kind: str, *sides: int) -> Element:
    return Element(kind, Box(*sides), 0.8)


def test_text_joins_the_smallest_element_that_holds_it():
    dialog, button = element("dialog", 0, 0, 100, 80), element("button", 10, 50, 60, 70)
    items = merged([line("Save", 15, 55), line("Really?", 20, 10)], [button, dialog])
    assert items == (
        ScreenItem("dialog", "Really?", dialog.box),
        ScreenItem("button", "Save", button.box),
    )


def test_a_link_is_told_apart_from_its_sentence():
    words = [line("click", 0, 0), line("me", 32, 0), line("please", 50, 0)]
    sentence = line("click me please", 0, 0, words=words)
    link = element("link", 31, 0, 46, 11)
    assert merged([sentence], [link]) == (
        ScreenItem(TEXT, "click", words[0].box),
        ScreenItem("link", "me", link.box),
        ScreenItem(TEXT, "please", words[2].box),
    )


def test_a_line_outside_every_element_stays_as_it_was_read():
    words = [line("two", 0, 0), line("words", 20, 0)]
    whole = line("two words", 0, 0, words=words)
    assert merged([whole], []) == (ScreenItem(TEXT, "two words", whole.box),)


def test_a_box_to_tick_is_no_letter_and_keeps_its_label_outside():
    box = element("checkbox", 0, 0, 12, 12)
    words = [line("□", 2, 1), line("vehicle", 20, 1)]
    items = merged([line("□ vehicle", 0, 0, words=words)], [box])
    assert items == (ScreenItem("checkbox", "", box.box), ScreenItem(TEXT, "vehicle", words[1].box))


def test_lines_of_a_text_area_are_read_in_order():
    area = element("text area", 0, 0, 100, 40)
    lines = [line("world,", 40, 2), line("again", 0, 20), line("Hello", 0, 1)]
    assert merged(lines, [area]) == (ScreenItem("text area", "Hello world, again", area.box),)


sides = st.integers(0, 200)
boxes = st.builds(
    lambda x, y, width, height: Box(x, y, x + width, y + height),
    sides,
    sides,
    st.integers(1, 120),
    st.integers(1, 60),
)
words = st.text("abcXYZ123", min_size=3, max_size=8)
lines_ = st.lists(st.builds(TextLine, words, boxes, st.just(0.9)), max_size=8)
elements_ = st.lists(
    st.builds(Element, st.sampled_from(KINDS), boxes, st.sampled_from([0.4, 0.9])),
    max_size=8,
    unique_by=lambda e: (e.kind, e.box),
)


@given(lines_, elements_, st.randoms(use_true_random=False))
def test_whatever_is_seen_nothing_is_lost_doubled_or_out_of_order(lines, elements, rng):
    items = merged(lines, elements)
    found = [(item.kind, item.box) for item in items if item.kind != TEXT]
    assert sorted(found) == sorted((e.kind, e.box) for e in elements)
    said = sorted(" ".join(item.text for item in items).split())
    assert said == sorted(line.text for line in lines)
    assert all(not item.text for item in items if item.kind in TEXTLESS)
    places = [(item.box.y1, item.box.x1) for item in items]
    assert places == sorted(places)
    shuffled_lines, shuffled_elements = list(lines), list(elements)
    rng.shuffle(shuffled_lines)
    rng.shuffle(shuffled_elements)
    assert merged(shuffled_lines, shuffled_elements) == items


@given(lines_)
def test_order_of_pieces_does_not_depend_on_the_order_they_come_in(lines):
    shuffled = random.Random(1).sample(lines, len(lines))
    assert in_reading_order(shuffled) == in_reading_order(lines)
