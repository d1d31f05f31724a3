"""Pictures of figures: shares with their intervals, and bars of errors repaired, made or tagged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from django.utils import formats
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from judging.analysis.reports.showing import DASH, figure_words, interval_words, why_undefined
from judging.statistics.figures import Figure, Interval, Share, Undefined
from runs.interface.pictures import LINE, as_picture, block, canvas, write
from runs.interface.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 380
"""About a phone's, so that words keep their size there."""
ROW = 46
AXIS = 22
MARGIN = 8
LONGEST_NAME = 27
"""Characters that fit beside the words; with a longer one, all names have a line of their own."""
NAME_LINE = 17
LONGEST_LINE = 50
MEANING = {
    "fn": "#8b2780",
    "fp": "#a84a00",
    "success": "#00695c",
    "failure": "#95120b",
    "people": "#1f4ea3",
    "evaluator": "#585e67",
    "agent": "#1f4ea3",
}
"""For the picture on its own; in a page, style sheets paint by class."""
Meaning = Literal["fn", "fp", "people", "evaluator", "agent"]


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """A figure with its intervals, or a dash with the reason for none.

    `counted` stands behind its words as `5/12`; `url` is where the mark leads, `title` what it says
    on hover: the name and the figure unless it is given. `meaning` is what colours it where that
    differs from row to row.
    """

    name: str
    value: Figure
    interval: Interval | Undefined | None
    counted: Share | None = None
    by_task: Interval | Undefined | None = None
    url: str = ""
    title: str = ""
    meaning: Meaning | None = None

    @property
    def words(self) -> str:
        """What stands at the right."""
        if isinstance(self.value, Undefined):
            return f"{DASH} {why_undefined(self.value)}"
        words = figure_words(self.value, is_share=True)
        if ends := interval_words(self.interval, is_share=True):
            words += f" ({ends})"
        return f"{words} {self.counted.count}/{self.counted.total}" if self.counted else words


def interval_picture(rows: Sequence[IntervalRow], *, label: str, meaning: Meaning) -> SafeString:
    """Shares on one axis from 0 to 100 %, each with a whisker, the name and the words above.

    A second, thin whisker is the interval with whole tasks resampled.
    """
    lift = NAME_LINE if any(len(row.name) > LONGEST_NAME for row in rows) else 0
    height = (ROW + lift) * len(rows) + AXIS
    titles: dict[str, str] = {}
    with canvas(WIDTH, height) as (figure, axes):
        # One unit of y is a pixel from the top, one of x a percent between the margins.
        scale = 100 / (WIDTH - 2 * MARGIN)
        left = -MARGIN * scale
        axes.set_xlim(left, 100 - left)
        for tick in (0, 25, 50, 75, 100):
            axes.plot([tick, tick], [4, height - AXIS + 4], color=LINE, lw=1, gid=".grid")
            place = "left" if tick == 0 else "right" if tick == 100 else "center"
            words = f"{formats.number_format(tick)} %"
            write(axes, tick, height - 4, words, "axis", ha=place)
        for index, row in enumerate(rows):
            top = index * (ROW + lift)
            write(axes, 0, top + 15, _shortened(row.name), "name")
            top += lift
            write(axes, 100, top + 15, row.words, "words", ha="right")
            if isinstance(row.value, Undefined):
                continue
            if row.url:
                words = figure_words(row.value, is_share=True)
                titles[row.url] = row.title or f"{row.name}: {words}"
            y = top + 30
            kind = row.meaning or meaning
            colour = MEANING[kind]
            if isinstance(row.by_task, Interval):
                ends = [100 * row.by_task.low, 100 * row.by_task.high]
                axes.plot(ends, [y, y], color=colour, lw=1, gid=f".by-task.{kind}")
            if isinstance(row.interval, Interval):
                low, high = 100 * row.interval.low, 100 * row.interval.high
                axes.plot(
                    [low, high],
                    [y, y],
                    color=colour,
                    lw=3,
                    alpha=0.6,
                    solid_capstyle="butt",
                    gid=f".whisker.{kind}",
                )
                for end in (low, high):
                    axes.plot([end, end], [y - 4, y + 4], color=colour, lw=1.5, gid=f".cap.{kind}")
            axes.plot(
                [100 * row.value],
                [y],
                marker="o",
                ls="",
                ms=9,
                color=colour,
                clip_on=False,
                url=row.url or None,
                gid=f".point.{kind}",
            )
        return as_picture(figure, label, titles)


def _shortened(name: str) -> str:
    """The name with its middle left out where it is longer than the picture is wide."""
    if len(name) <= LONGEST_LINE:
        return name
    return f"{name[: LONGEST_LINE - 9]}…{name[-8:]}"


def draw_bar(
    axes: Axes, left: float, top: float, width: float, height: float, *, kind: str, url: str
) -> None:
    """A bar of a kind (`fn`, or `fn.fixed`), which leads to the runs that it counts."""
    paint = {"color": MEANING[kind.partition(".")[0]], "linewidth": 0}
    block(axes, (left, top), width, height, url=url, gid=f".bar.{kind}", **paint)


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
_MIDDLE = "#858b94"


def flips_picture(bars: Sequence[FlipsBar], *, label: str) -> SafeString:
    """One bar a group from a middle line: repaired errors right of it, new ones left of it."""
    most_new = max((bar.total(repaired=False) for bar in bars), default=0)
    most = max((bar.total(repaired=True) for bar in bars), default=0) + most_new or 1
    scale = (WIDTH - 2 * MARGIN) / most
    middle = MARGIN + most_new * scale
    height = FLIPS_ROW * len(bars) + 22
    titles: dict[str, str] = {}
    with canvas(WIDTH, height) as (figure, axes):
        axes.plot([middle, middle], [18, height - 22], color=_MIDDLE, lw=1, gid=".grid")
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
                draw_bar(axes, start, top + 20, width, FLIPS_BAR, kind=kind, url=part.url)
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
                draw_bar(axes, left, top + 20, width, CAUSE_BAR, kind=kind, url=url)
                titles[url] = f"{bar.name}: {counts[-1]}"
                left += width + 1
            write(axes, left + 4, top + 29, " + ".join(counts), "words")
        return as_picture(figure, label, titles)
