"""Join the text that was read with the elements that were found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webagent.vision.screen import TEXT, Box, Element, ScreenItem, TextLine, reading_order

# Text belongs to an element that holds this much of it.
INSIDE = 0.6
# Engines read these little pictures as letters; their names stand beside them, never inside.
TEXTLESS = frozenset(
    {
        "checkbox",
        "checked checkbox",
        "radio button",
        "selected radio button",
        "close button",
        "icon",
        "slider",
        "slider handle",
        "spinner button",
    }
)
_NOISE = 2
"""The most letters that are made of such a picture."""


def merged(lines: Sequence[TextLine], elements: Sequence[Element]) -> tuple[ScreenItem, ...]:
    """Every element with the text in it, and the text outside any; by y, then x.

    Text goes to the smallest element that holds it: to a button rather than to its dialog. Where
    a line runs through several elements, such as a link within a sentence, its words are told
    apart.
    """
    ordered = sorted(elements, key=lambda e: (e.box.area, e.box, e.kind, -e.confidence))
    held: dict[int, list[TextLine]] = {}
    left: list[TextLine] = []
    for line in sorted(lines, key=lambda line: (line.box, line.text)):
        for place, piece in _pieces(line, ordered):
            if place is None:
                left.append(piece)
            elif ordered[place].kind not in TEXTLESS:
                held.setdefault(place, []).append(piece)
            elif len(piece.text) > _NOISE:
                left.append(piece)
    items = [
        ScreenItem(element.kind, in_reading_order(held.get(place, ())), element.box)
        for place, element in enumerate(ordered)
    ]
    items += [ScreenItem(TEXT, piece.text, piece.box) for piece in left]
    return tuple(sorted(items, key=reading_order))


def in_reading_order(lines: Iterable[TextLine]) -> str:
    """The text of pieces that may stand side by side or below each other."""
    rows: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: (line.box.centre[1], line.box, line.text)):
        if rows and line.box.centre[1] < rows[-1][0].box.y2:
            rows[-1].append(line)
        else:
            rows.append([line])
    return " ".join(
        piece.text for row in rows for piece in sorted(row, key=lambda line: (line.box, line.text))
    )


def _pieces(line: TextLine, ordered: Sequence[Element]) -> list[tuple[int | None, TextLine]]:
    """The line, or the parts of it that are in different elements, each with its element."""
    runs: list[tuple[int | None, list[TextLine]]] = []
    for word in line.words or (line,):
        place = _place(word.box, ordered)
        if runs and runs[-1][0] == place:
            runs[-1][1].append(word)
        else:
            runs.append((place, [word]))
    if len(runs) == 1:
        return [(runs[0][0], line)]
    return [(place, _joined(words)) for place, words in runs]


def _place(box: Box, ordered: Sequence[Element]) -> int | None:
    """The smallest element that holds the box."""
    for place, element in enumerate(ordered):
        if element.box.shared(box) >= INSIDE * box.area:
            return place
    return None


def _joined(words: Sequence[TextLine]) -> TextLine:
    box = Box.around_all(word.box for word in words)
    text = " ".join(word.text for word in words)
    return TextLine(text, box, min(word.confidence for word in words))
