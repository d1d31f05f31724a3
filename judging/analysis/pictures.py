"""Pictures of an audit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from django.utils import formats
from django.utils.safestring import SafeString

from judging.analysis.reports.showing import DASH, figure_words, interval_words, why_undefined
from judging.statistics.figures import Figure, Interval, Share, Undefined
from runs.interface.pictures import LINE, as_picture, canvas, write

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
