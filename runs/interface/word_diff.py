"""What changed between two texts, word by word. Pure."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from webagent import sequence_matching
from webagent.sequence_matching import Compared

_WORD = re.compile(r"\s+|\w+|[^\w\s]")


class Part(StrEnum):
    """Where a piece of text stands."""

    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


class Piece(NamedTuple):
    """Some words that both texts hold, or one of them alone."""

    part: Part
    text: str


def word_diff(before: str, after: str) -> Compared[Piece]:
    """The pieces that the two texts are made of, in order.

    Same and removed ones joined are the text before, same and added ones the text after. What
    would take too long to compare counts as different.
    """
    if before == after:
        return Compared([Piece(Part.SAME, before)] if before else [])
    old, new = _WORD.findall(before), _WORD.findall(after)
    compared = sequence_matching.pieces(old, new)
    pieces: Compared[Piece] = Compared(is_whole=compared.is_whole)
    for tag, from_old, to_old, from_new, to_new in compared:
        words, others = "".join(old[from_old:to_old]), "".join(new[from_new:to_new])
        pieces += [Piece(Part.SAME, words)] if tag == "equal" else _pieces(words, others)
    return pieces


def _pieces(before: str, after: str) -> list[Piece]:
    both = [Piece(Part.REMOVED, before), Piece(Part.ADDED, after)]
    return [piece for piece in both if piece.text]
