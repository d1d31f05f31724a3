"""Heat maps: a number in every cell, so that they can be read without their colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.safestring import SafeString

from runs.interface.pictures import as_picture, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 380
"""About a phone's, so that words keep their size there."""
HEAD = 34
NAME_LINE = 20
CELL = 52
GAP = 3
STRONGEST = 4
"""Steps of colour on either side of nothing."""
_INK, _MUTED, _LINE = "#1a1c20", "#585e67", "#dfe0dd"
_GAIN = ("#e2f3ee", "#c3e5dc", "#9dd4c6", "#73c0ad")
_LOSS = ("#fcebe9", "#f8d3cf", "#f2b3ad", "#ea9089")
"""For the picture on its own; in a page, style sheets paint by class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """One cell. `heat` is −1 to 1, None where there is no figure; `notes` stand under its words."""

    words: str
    notes: Sequence[str] = ()
    heat: float | None = None
    url: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatRow:
    name: str
    cells: Sequence[HeatCell | None]
    """One for each column; None where there is nothing at all."""


def heat_picture(
    columns: Sequence[tuple[str, str]], rows: Sequence[HeatRow], *, label: str, apart: int = 0
) -> SafeString:
    """Rows under their names, columns under two lines of words.

    Args:
        apart: so many columns at the left stand apart from the others.
    """
    width = (WIDTH - GAP * (len(columns) - 1)) / max(1, len(columns))
    height = HEAD + len(rows) * (NAME_LINE + CELL + GAP)
    with canvas(WIDTH, height) as (figure, axes):
        for place, lines in enumerate(columns):
            middle = place * (width + GAP) + width / 2
            for number, words in enumerate(lines):
                _write(axes, middle, 12 + 14 * number, words, 11, "axis")
        if apart and apart < len(columns):
            x = apart * (width + GAP) - GAP / 2
            axes.plot([x, x], [2, height - GAP], color=_LINE, lw=1, gid=".grid", ls=(0, (3, 3)))
        for index, row in enumerate(rows):
            top = HEAD + index * (NAME_LINE + CELL + GAP)
            axes.text(0, top + 13, row.name, size=12, color=_INK, gid=".name", ha="left")
            for place, cell in enumerate(row.cells):
                if cell is not None:
                    _draw_cell(axes, cell, place * (width + GAP), top + NAME_LINE, width)
        every = [cell for row in rows for cell in row.cells if cell is not None]
        return as_picture(figure, label, {cell.url: cell.title for cell in every if cell.url})


def _draw_cell(axes: Axes, cell: HeatCell, left: float, top: float, width: float) -> None:
    # As `drawing` itself does: Matplotlib is loaded by those who draw.
    from matplotlib.patches import Rectangle

    kind, paint = _heat(cell.heat)
    axes.add_patch(
        Rectangle(
            (left, top),
            width,
            CELL,
            facecolor=paint,
            edgecolor=_LINE,
            linewidth=1,
            url=cell.url or None,
            gid=f".heat.{kind}",
        )
    )
    _write(axes, left + width / 2, top + 19, cell.words, 15, "name")
    for number, note in enumerate(cell.notes):
        _write(axes, left + width / 2, top + 33 + 13 * number, note, 10, "words")


def _write(axes: Axes, x: float, y: float, words: str, size: float, kind: str) -> None:
    """Words around a middle."""
    colour = _INK if kind == "name" else _MUTED
    axes.text(x, y, words, size=size, color=colour, gid=f".{kind}", ha="center")


def _heat(heat: float | None) -> tuple[str, str]:
    """Class and colour: the side and how strong."""
    if heat is None:
        return "none", "#ffffff"
    step = min(STRONGEST, round(abs(heat) * STRONGEST + 0.499)) if heat else 0
    if not step:
        return "zero", "#ffffff"
    return (f"gain{step}", _GAIN[step - 1]) if heat > 0 else (f"loss{step}", _LOSS[step - 1])
