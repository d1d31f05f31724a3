"""The same as difflib, as long as the work is within the bound; then a bounded part of it."""

from collections import Counter
from difflib import SequenceMatcher
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webagent import measures
from webagent.measures import common_blocks, likeness, pieces

words = st.lists(st.sampled_from("abc "), max_size=30)


@given(words, words)
def test_the_pieces_are_those_of_difflib(one, other):
    expected = SequenceMatcher(None, one, other, autojunk=False)
    assert [tuple(piece) for piece in pieces(one, other)] == expected.get_opcodes()
    assert likeness(one, other) == expected.ratio()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["a"] * 2_000, ["a", "b"] * 1_000),
        (["a"] * 20_000, ["a"] * 20_001),
        (["a", " "] * 1_500, ["b", " ", "a", "a"] * 700),
    ],
)
def test_no_more_pairs_are_looked_at_than_allowed(one, other, monkeypatch):
    looked_at, times = [], Counter(other)
    find = SequenceMatcher.find_longest_match

    def counted(self, a_start, a_end, b_start, b_end):
        looked_at.append(sum(times[item] for item in one[a_start:a_end]))
        return find(self, a_start, a_end, b_start, b_end)

    monkeypatch.setattr(SequenceMatcher, "find_longest_match", counted)
    compared = pieces(one, other)
    assert sum(looked_at) <= measures.MOST_PAIRS
    assert list(chain(*(one[p.a_start : p.a_end] for p in compared))) == one
    assert list(chain(*(other[p.b_start : p.b_end] for p in compared))) == other


def test_what_is_beyond_the_bound_counts_as_different(monkeypatch):
    monkeypatch.setattr(measures, "MOST_PAIRS", 10)
    assert common_blocks("abc", "abc") == [(0, 0, 3)]
    assert common_blocks("aaaa", "aaaa") == []
    assert pieces("abc", "abc").is_whole
    assert not pieces("aaaa", "aaaa").is_whole
