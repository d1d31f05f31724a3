"""Bars: what a second evaluator repairs and breaks, causes of errors, anomalies of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from django.utils import formats
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from judging.analysis.pictures import MARGIN, MEANING, WIDTH
from runs.interface.pictures import LINE, as_picture, block, canvas, write
from runs.interface.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_AXIS = "#858b94"


def _draw(
    axes: Axes, left: float, top: float, width: float, height: float, *, kind: str, url: str
) -> None:
    """A bar of a kind (`fn`, or `fn.fixed`), which leads to the runs that it counts."""
    paint = {"color": MEANING[kind.partition(".")[0]], "linewidth": 0}
    block(axes, (left, top), width, height, url=url, gid=f".bar.{kind}", **paint)


Count = tuple[int, str]
"""How many runs, and where they are listed."""


class Flipped(NamedTuple):
    """How many errors of a kind, `fn` or `fp`, are repaired or new, and where they are listed."""

    name: str
    kind: str
    is_repaired: bool
    n: int
    url: str

    @property
    def words(self) -> str:
        return counted(self.name, self.n)


class FlipsBar(NamedTuple):
    """The flips of one group of runs: on either side of the middle line in this order."""

    name: str
    parts: Sequence[Flipped]

    def total(self, *, repaired: bool) -> int:
        return sum(part.n for part in self.parts if part.is_repaired is repaired)

    @property
    def words(self) -> str:
        return ", ".join(part.words for part in self.parts if part.n) or _("nothing changed")


FLIPS_ROW, FLIPS_BAR = 40, 12


def flips_picture(bars: Sequence[FlipsBar], *, label: str) -> SafeString:
    """One bar a group from a middle line: repaired errors right of it, new ones left of it."""
    most_new = max((bar.total(repaired=False) for bar in bars), default=0)
    most = max((bar.total(repaired=True) for bar in bars), default=0) + most_new or 1
    scale = (WIDTH - 2 * MARGIN) / most
    middle = MARGIN + most_new * scale
    height = FLIPS_ROW * len(bars) + 22
    titles: dict[str, str] = {}
    with canvas(WIDTH, height) as (figure, axes):
        axes.plot([middle, middle], [18, height - 22], color=_AXIS, lw=1, gid=".grid")
        for index, bar in enumerate(bars):
            top = index * FLIPS_ROW
            write(axes, MARGIN, top + 14, bar.name, "name")
            write(axes, WIDTH - MARGIN, top + 14, bar.words, "words", ha="right")
            left = right = middle
            for part in filter(lambda part: part.n, bar.parts):
                width = part.n * scale
                if part.is_repaired:
                    kind, start, right = f"{part.kind}.fixed", right, right + width
                else:
                    kind, start, left = f"{part.kind}.new", left - width, left - width
                _draw(axes, start, top + 20, width, FLIPS_BAR, kind=kind, url=part.url)
                if part.url:
                    titles[part.url] = f"{bar.name}: {part.words}"
        if most_new:
            write(axes, middle - 4, height - 6, _("new errors"), "axis", ha="right")
        write(axes, middle + 4, height - 6, _("repaired"), "axis")
        return as_picture(figure, label, titles)


@dataclass(frozen=True, slots=True)
class CauseBar:
    """How many errors have a cause, and where the runs of each kind are listed."""

    name: str
    fn: int
    fp: int
    fn_url: str
    fp_url: str

    @property
    def errors(self) -> int:
        return self.fn + self.fp


CAUSE_ROW, CAUSE_BAR = 34, 10
CAUSE_NUMBERS = 96
"""Kept free at the right, for the counts."""


def causes_picture(bars: Sequence[CauseBar], *, label: str, most: int = 0) -> SafeString:
    """One bar a cause, false negatives first and false positives after them, with their counts.

    Args:
        most: errors of the longest bar of all pictures beside this one; of its own by default.
    """
    height = CAUSE_ROW * len(bars) + MARGIN
    most = most or max((bar.errors for bar in bars), default=0) or 1
    with canvas(WIDTH, height) as (figure, axes):
        scale = (WIDTH - 2 * MARGIN - CAUSE_NUMBERS) / most
        titles: dict[str, str] = {}
        for index, bar in enumerate(bars):
            top = index * CAUSE_ROW
            write(axes, MARGIN, top + 15, bar.name, "name")
            left = float(MARGIN)
            counts = []
            for kind, count, url in (("fn", bar.fn, bar.fn_url), ("fp", bar.fp, bar.fp_url)):
                if not count:
                    continue
                counts.append(f"{formats.number_format(count)} {kind.upper()}")
                width = count * scale
                _draw(axes, left, top + 20, width, CAUSE_BAR, kind=kind, url=url)
                titles[url] = f"{bar.name}: {counts[-1]}"
                left += width + 1
            write(axes, left + 4, top + 29, " + ".join(counts), "words")
        return as_picture(figure, label, titles)


HEIGHT, GAP = 200, 28
TOP, BOTTOM = 44, 158


def detections_picture(
    successes: Sequence[Count], failures: Sequence[Count], *, label: str
) -> SafeString:
    """Runs by how often an anomaly was noticed in them, from never, the number over each bar.

    Two histograms on one scale.
    """
    most = max([1, *(n for n, _url in (*successes, *failures))])
    width = (WIDTH - 2 * MARGIN - GAP) / 2
    titles: dict[str, str] = {}
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        sides = (("success", _("successes"), successes), ("failure", _("failures"), failures))
        for number, (kind, title, bars) in enumerate(sides):
            left = MARGIN + number * (width + GAP)
            write(axes, left, 14, title, "name")
            axes.plot([left, left + width], [BOTTOM, BOTTOM], color=LINE, lw=1, gid=".grid")
            step = width / max(len(bars), 1)
            for place, (runs, url) in enumerate(bars):
                x, height = left + place * step, runs / most * (BOTTOM - TOP)
                middle = x + step / 2
                _draw(
                    axes,
                    x + 0.14 * step,
                    BOTTOM - height,
                    0.72 * step,
                    height,
                    kind=kind,
                    url=url if runs else "",
                )
                count = formats.number_format(runs)
                if runs and url:
                    titles[url] = f"{title}, {place}: {count}"
                write(axes, middle, BOTTOM - height - 5, count, "words", ha="center")
                write(axes, middle, BOTTOM + 15, str(place), "axis", ha="center")
        words = _("anomalies noticed in a run")
        write(axes, WIDTH / 2, HEIGHT - 6, words, "axis", ha="center")
        return as_picture(figure, label, titles)
