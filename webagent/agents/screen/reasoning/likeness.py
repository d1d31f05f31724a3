"""How like two texts are when one of them was read from a picture."""

from __future__ import annotations

from webagent import sequence_matching

SAME = 1.0
SAME_BUT_CASE = 0.97
SAME_BUT_LOOKS = 0.93
"""The same once letters that look alike are taken for one another."""
LIKE_ENOUGH = 0.6

_ALIKE = str.maketrans("01i|!5$8", "ollllssb")
_SIGNS_OF_BOXES = "oO0□☐○◯◉●@QC[]()"
"""What a reader of letters makes of an empty checkbox or radio button before a label."""


def likeness(wanted: str, read: str) -> float:
    """From 0 to 1; blanks count for nothing, since readers lose and invent them."""
    one, other = _joined(wanted), _joined(read)
    if not one or not other:
        return 0.0
    if one == other:
        return SAME
    if one.casefold() == other.casefold():
        return SAME_BUT_CASE
    one, other = _look(one), _look(other)
    if one == other:
        return SAME_BUT_LOOKS
    return SAME_BUT_LOOKS * sequence_matching.likeness(one, other)


def label_likeness(wanted: str, read: str) -> float:
    """The same for the label of a checkbox, which may have been read as a letter before it."""
    first, _blank, rest = read.strip().partition(" ")
    variants = [read]
    if rest and len(first) <= 2:
        variants.append(rest)
    if read[:1] in _SIGNS_OF_BOXES and len(read) > len(wanted):
        variants.append(read[1:])
    return max(likeness(wanted, variant) for variant in variants)


def place_in(wanted: str, read: str) -> tuple[float, float] | None:
    """Where in a longer text the wanted words stand, as shares of its length; None if nowhere."""
    if not wanted or len(wanted) >= len(read):
        return None
    start = read.find(wanted)
    if start < 0:
        start = read.casefold().find(wanted.casefold())
    if start < 0:
        start = _look(read).find(_look(wanted))
    if start < 0:
        return None
    return start / len(read), (start + len(wanted)) / len(read)


def _joined(text: str) -> str:
    return "".join(text.split())


def _look(text: str) -> str:
    return text.casefold().translate(_ALIKE)
