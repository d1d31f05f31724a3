"""Expected and actual side by side, with what differs marked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from webagent.sequence_matching import pieces

_TOKENS = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text; `mark` is "" for plain, "same", "missing" or "extra"."""

    text: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """Both texts in pieces that join to the texts themselves."""

    expected: Sequence[Segment]
    actual: Sequence[Segment]
    is_whole: bool
    """Whether all was compared; else what is left counts as different."""


def difference(expected: str, actual: str, *, passed: bool) -> Difference:
    """Where they differ; where the check passed, what of the expected was found instead.

    Words are compared without regard to case. What would take too long to compare counts as
    different.
    """
    first, second = _TOKENS.findall(expected), _TOKENS.findall(actual)
    left: list[Segment] = []
    right: list[Segment] = []
    compared = pieces([one.casefold() for one in first], [one.casefold() for one in second])
    for tag, a, b, c, d in compared:
        equal = tag == "equal"
        found = "same" if passed else ""
        left.append(Segment("".join(first[a:b]), "" if equal or passed else "missing"))
        right.append(Segment("".join(second[c:d]), found if equal else "" if passed else "extra"))
    return Difference(_joined(left), _joined(right), compared.is_whole)


def _joined(segments: Sequence[Segment]) -> list[Segment]:
    """Without empty pieces; blanks alone are no difference worth a mark."""
    return [
        Segment(piece.text, piece.mark if piece.text.strip() else "")
        for piece in segments
        if piece.text
    ]
