"""The picture of two compared evaluators: errors repaired to the right, new ones to the left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import formats
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from runs.interface.pictures import as_picture, canvas

WIDTH = 380
ROW = 40
BAR = 12
MARGIN = 8
_INK, _MUTED, _LINE = "#1a1c20", "#585e67", "#858b94"
_MEANING = {"fn": "#8b2780", "fp": "#a84a00"}
"""For the picture on its own; in a page, style sheets paint by class."""
Count = tuple[int, str]
"""How many runs, and where they are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipsBar:
    """The flips of one group of runs."""

    name: str
    fixed_fn: Count
    fixed_fp: Count
    new_fn: Count
    new_fp: Count

    @property
    def fixed(self) -> int:
        return self.fixed_fn[0] + self.fixed_fp[0]

    @property
    def new(self) -> int:
        return self.new_fn[0] + self.new_fp[0]


def flips_picture(bars: Sequence[FlipsBar], *, label: str) -> SafeString:
    """One bar a group from a middle line: repaired errors right of it, new ones left of it."""
    most_new = max((bar.new for bar in bars), default=0)
    most = max((bar.fixed for bar in bars), default=0) + most_new or 1
    scale = (WIDTH - 2 * MARGIN) / most
    middle = MARGIN + most_new * scale
    height = ROW * len(bars) + 22
    titles: dict[str, str] = {}
    with canvas(WIDTH, height) as (figure, axes):
        # As `canvas` does: Matplotlib is loaded by those who draw.
        from matplotlib.patches import Rectangle

        axes.plot([middle, middle], [18, height - 22], color=_LINE, lw=1, gid=".grid")
        for index, bar in enumerate(bars):
            top = index * ROW
            axes.text(MARGIN, top + 14, bar.name, size=13, color=_INK, gid=".name")
            axes.text(
                WIDTH - MARGIN,
                top + 14,
                _words(bar),
                size=12,
                ha="right",
                color=_MUTED,
                gid=".words",
            )
            for side, parts in (
                (1, (("fn", bar.fixed_fn), ("fp", bar.fixed_fp))),
                (-1, (("fn", bar.new_fn), ("fp", bar.new_fp))),
            ):
                at = middle
                for kind, (count, url) in parts:
                    width = count * scale
                    if not count:
                        continue
                    left = at if side > 0 else at - width
                    name = f".bar.{kind}.{'fixed' if side > 0 else 'new'}"
                    axes.add_patch(
                        Rectangle(
                            (left, top + 20),
                            width,
                            BAR,
                            color=_MEANING[kind],
                            linewidth=0,
                            url=url or None,
                            gid=name,
                        )
                    )
                    if url:
                        titles[url] = f"{bar.name}: {_part(side, kind, count)}"
                    at += side * width
        if most_new:
            axes.text(
                middle - 4,
                height - 6,
                _("new errors"),
                size=11,
                ha="right",
                color=_MUTED,
                gid=".axis",
            )
        axes.text(middle + 4, height - 6, _("repaired"), size=11, color=_MUTED, gid=".axis")
        return as_picture(figure, label, titles)


def _part(side: int, kind: str, count: int) -> str:
    words = {
        (1, "fn"): _("%(n)s FN repaired"),
        (1, "fp"): _("%(n)s FP repaired"),
        (-1, "fn"): _("%(n)s new FN"),
        (-1, "fp"): _("%(n)s new FP"),
    }[side, kind]
    return words % {"n": formats.number_format(count)}


def _words(bar: FlipsBar) -> str:
    parts = [
        _part(side, kind, count)
        for side, kind, (count, _url) in (
            (1, "fn", bar.fixed_fn),
            (1, "fp", bar.fixed_fp),
            (-1, "fn", bar.new_fn),
            (-1, "fp", bar.new_fp),
        )
        if count
    ]
    return ", ".join(parts) or _("no flips")
