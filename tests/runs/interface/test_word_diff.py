"""Differences between two texts, word by word."""

from hypothesis import given
from hypothesis import strategies as st

from runs.catalogue.tasks.reading import Part, Piece, word_diff
from webagent.sequence_matching import MOST_PAIRS


def joined(pieces: list[Piece], without: Part) -> str:
    return "".join(piece.text for piece in pieces if piece.part is not without)


@given(st.text(), st.text())
def test_the_pieces_make_both_texts(before, after):
    pieces = word_diff(before, after)
    assert joined(pieces, Part.ADDED) == before
    assert joined(pieces, Part.REMOVED) == after


def test_only_changed_words_are_marked():
    pieces = word_diff("Show me the last order", "Show me the first order")
    assert pieces == [
        Piece(Part.SAME, "Show me the "),
        Piece(Part.REMOVED, "last"),
        Piece(Part.ADDED, "first"),
        Piece(Part.SAME, " order"),
    ]


def test_equal_and_empty_texts():
    assert word_diff("same", "same") == [Piece(Part.SAME, "same")]
    assert word_diff("", "") == []


def test_endless_texts_differ_as_a_whole():
    before = "word " * int(MOST_PAIRS**0.5)
    after = f"{before}more"
    assert word_diff(before, after) == [Piece(Part.REMOVED, before), Piece(Part.ADDED, after)]
