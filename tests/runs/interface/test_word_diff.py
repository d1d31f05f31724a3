"""Differences between two texts, word by word."""

from hypothesis import given
from hypothesis import strategies as st

from runs.catalogue.tasks.reading import DiffKind, DiffPiece, word_diff
from webagent.measures import MOST_PAIRS


def joined(pieces: list[DiffPiece], without: DiffKind) -> str:
    return "".join(piece.text for piece in pieces if piece.part is not without)


@given(st.text(), st.text())
def test_the_pieces_make_both_texts(before, after):
    pieces = word_diff(before, after)
    assert joined(pieces, DiffKind.ADDED) == before
    assert joined(pieces, DiffKind.REMOVED) == after


def test_only_changed_words_are_marked():
    pieces = word_diff("Show me the last order", "Show me the first order")
    assert pieces == [
        DiffPiece(DiffKind.SAME, "Show me the "),
        DiffPiece(DiffKind.REMOVED, "last"),
        DiffPiece(DiffKind.ADDED, "first"),
        DiffPiece(DiffKind.SAME, " order"),
    ]


def test_equal_and_empty_texts():
    assert word_diff("same", "same") == [DiffPiece(DiffKind.SAME, "same")]
    assert word_diff("", "") == []


def test_endless_texts_differ_as_a_whole():
    before = "word " * int(MOST_PAIRS**0.5)
    after = f"{before}more"
    assert word_diff(before, after) == [
        DiffPiece(DiffKind.REMOVED, before),
        DiffPiece(DiffKind.ADDED, after),
    ]
