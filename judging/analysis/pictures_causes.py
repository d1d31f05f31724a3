"""The picture of the causes of one evaluator's errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import formats
from django.utils.safestring import SafeString

from runs.interface.pictures import as_picture, canvas

WIDTH = 380
ROW = 34
MARGIN = 8
BAR = 10
NUMBERS = 96
"""Kept free at the right, for the counts."""
_INK, _MUTED = "#1a1c20", "#585e67"
_MEANING = {"fn": "#8b2780", "fp": "#a84a00"}
"""For the picture on its own; in a page, style sheets paint by class."""


@dataclass(frozen=True, slots=True)
class CauseBar:
    """How many errors have a cause, and where the runs of each kind are listed."""

    name: str
    fn: int
    fp: int
    fn_url: str
    fp_url: str


def causes_picture(bars: Sequence[CauseBar], *, label: str) -> SafeString:
    """One bar a cause, false negatives first and false positives after them, with their counts."""
    height = ROW * len(bars) + MARGIN
    most = max((bar.fn + bar.fp for bar in bars), default=1) or 1
    with canvas(WIDTH, height) as (figure, axes):
        # As `canvas` does: Matplotlib is loaded by those who draw.
        from matplotlib.patches import Rectangle

        scale = (WIDTH - 2 * MARGIN - NUMBERS) / most
        titles: dict[str, str] = {}
        for index, bar in enumerate(bars):
            top = index * ROW
            axes.text(MARGIN, top + 15, bar.name, size=13, color=_INK, gid=".name")
            left = float(MARGIN)
            for kind, count, url in (("fn", bar.fn, bar.fn_url), ("fp", bar.fp, bar.fp_url)):
                if not count:
                    continue
                width = count * scale
                axes.add_patch(
                    Rectangle(
                        (left, top + 20),
                        width,
                        BAR,
                        color=_MEANING[kind],
                        linewidth=0,
                        url=url,
                        gid=f".bar.{kind}",
                    )
                )
                titles[url] = f"{bar.name}: {formats.number_format(count)} {kind.upper()}"
                left += width + 1
            axes.text(left + 4, top + 29, _counts(bar), size=12, color=_MUTED, gid=".words")
        return as_picture(figure, label, titles)


def _counts(bar: CauseBar) -> str:
    parts = [
        f"{formats.number_format(n)} {kind}" for n, kind in ((bar.fn, "FN"), (bar.fp, "FP")) if n
    ]
    return " + ".join(parts)
