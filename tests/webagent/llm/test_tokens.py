from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webagent.llm.budget import count_tokens, fitting

ANY = st.text(st.characters(), max_size=200)


@given(ANY, ANY)
def test_joining_never_costs_more(one, other):
    assert count_tokens(one + other) <= count_tokens(one) + count_tokens(other)
    assert count_tokens(f"{one}\n{other}") <= count_tokens(one) + 1 + count_tokens(other)


@given(ANY, st.integers(0, 50))
def test_what_is_made_to_fit_fits(text, tokens):
    assert count_tokens(fitting(text, tokens)) <= tokens


def test_fitting_keeps_beginning_and_end():
    text = "begins " + "and goes on " * 200 + "ends"
    cut = fitting(text, 60)
    assert cut.startswith("begins")
    assert cut.endswith("ends")
    assert "left out" in cut


@pytest.mark.parametrize(
    ("text", "at_least", "at_most"),
    [
        ("The quick brown fox jumps over the lazy dog.", 10, 14),
        ("[a51] button 'Add to cart', clickable, visible", 13, 22),
        ("0123456789", 5, 5),
        ("日本語のページ", 7, 14),
        ("", 0, 0),
    ],
)
def test_counts_are_near_what_tokenizers_say(text, at_least, at_most):
    assert at_least <= count_tokens(text) <= at_most


def test_pages_count_more_than_a_fourth_of_their_characters():
    line = "\t\t[a512] link '3.4.1', url='http://a.test/x?y=1&z=2', focused\n"
    assert count_tokens(line * 50) > len(line * 50) / 4


def test_prose_counts_somewhat_more_than_it_has():
    text = (
        "The reference answer and the answer of the agent mean the same if a careful reader"
        " who knows the task would accept either of them as a correct and complete reply to the"
        " question that was asked at the beginning of it."
    )
    by_o200k = 43
    assert by_o200k <= count_tokens(text) < 1.3 * by_o200k
