"""Pictures of figures: shares with intervals, bars of errors repaired and made, and curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from django.utils import formats
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from judging.analysis.reports.showing import DASH, figure_words, interval_words, why_undefined
from judging.statistics.figures import Figure, Interval, Share, Undefined
from runs.interface.pictures import LINE, MUTED, as_picture, block, canvas, write
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


_ACCENT, _BESIDE = MEANING["agent"], "#886600"
_CURVES = {
    "reached": (_ACCENT, "-"),
    "held": (_BESIDE, "--"),
    "solved": (MUTED, ":"),
    "pass-at": (_ACCENT, "-"),
    "pass-hat": (MUTED, "--"),
    "best": (_BESIDE, ":"),
}
"""Colour and dashes by kind; the colour is for the picture on its own."""
_STRIDES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_MOST_TICKS = 8
LEAST_APART = 14


class Frame(NamedTuple):
    """A picture's size, and where its curves lie in it."""

    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float


STEPS = Frame(400, 220, 44, 308, 12, 178)
TRIALS = Frame(404, 210, 40, 318, 12, 172)
"""The names at the ends of the curves take as much room as the longest of any language."""


class Curve(NamedTuple):
    """A share at some whole numbers; `kind` says how it is drawn."""

    kind: str
    name: str
    points: Sequence[tuple[int, float]]


def curves_picture(curves: Sequence[Curve], *, label: str, axis: str, by_trial: bool) -> SafeString:
    """Curves over whole numbers on one axis from 0 to 100 %, each with its name at the end.

    Steps count from 0; trials from 1, and each stands below the axis and has a mark.
    """
    frame, first = (TRIALS, 1) if by_trial else (STEPS, 0)
    last = max((n for curve in curves for n, _ in curve.points), default=first)
    stride = next((s for s in _STRIDES if last - first <= s * _MOST_TICKS), _STRIDES[-1])

    def across(n: int) -> float:
        part = (n - first) / (last - first) if last > first else 0.0
        return frame.left + part * (frame.right - frame.left)

    def down(share: float) -> float:
        return frame.bottom - share * (frame.bottom - frame.top)

    with canvas(frame.width, frame.height) as (figure, axes):
        for tick in (0, 25, 50, 75, 100):
            y = down(tick / 100)
            axes.plot([frame.left, frame.right], [y, y], color=LINE, lw=1, gid=".grid")
            words = f"{formats.number_format(tick)} %"
            write(axes, frame.left - 6, y + 4, words, "axis", ha="right")
        for n in range(first, last + 1, 1 if by_trial else stride):
            words = formats.number_format(n)
            write(axes, across(n), frame.bottom + 16, words, "axis", ha="center")
        middle = (frame.left + frame.right) / 2
        write(axes, middle, frame.height - 6, axis, "axis", ha="center")
        ends = apart([down(curve.points[-1][1]) for curve in curves])
        for (kind, name, points), end in zip(curves, ends, strict=True):
            xs, ys = [across(n) for n, _ in points], [down(share) for _, share in points]
            colour, dashes = _CURVES[kind]
            axes.plot(xs, ys, color=colour, lw=2, ls=dashes, gid=f".line.{kind}")
            if by_trial:
                axes.plot(xs, ys, marker="o", ls="", ms=6, color=colour, gid=f".point.{kind}")
            write(axes, xs[-1] + 8, end + 4, name, "words")
        return as_picture(figure, label)


def apart(heights: Sequence[float]) -> list[float]:
    """The heights moved down where two words would stand on one another."""
    moved = list(heights)
    before: float | None = None
    for place in sorted(range(len(moved)), key=moved.__getitem__):
        if before is not None:
            moved[place] = max(moved[place], before + LEAST_APART)
        before = moved[place]
    return moved
