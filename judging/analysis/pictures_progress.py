"""Pictures of progress: over the steps of runs, and a judge's against people's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from django.utils import formats
from django.utils.safestring import SafeString

from judging.statistics.correspondence import Differences
from judging.statistics.figures import Undefined
from runs.interface.pictures import LINE, MUTED, as_picture, canvas, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ACCENT, _BESIDE = "#1f4ea3", "#886600"
_CURVES = {
    "reached": (_ACCENT, "-"),
    "held": (_BESIDE, "--"),
    "solved": (MUTED, ":"),
    "pass-at": (_ACCENT, "-"),
    "pass-hat": (MUTED, "--"),
    "best": (_BESIDE, ":"),
}
"""Colour and dashes by kind; the colour is for the picture on its own."""
_KINDS = {"bias": "-", "limit": "--", "reported": ":"}
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


WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = STEPS = Frame(400, 220, 44, 308, 12, 178)
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


@dataclass(frozen=True, slots=True)
class Pair:
    """People's progress and the judge's for one run, in [0, 1], with where the run is."""

    people: float
    judge: float
    url: str
    title: str


def _reach(pairs: Sequence[Pair], lines: Sequence[float]) -> int:
    """The points up and down that hold all marks and lines: 25, 50 or 100."""
    farthest = max([abs(each.judge - each.people) for each in pairs] + [abs(x) for x in lines])
    return next((reach for reach in (25, 50) if 100 * farthest <= reach), 100)


def agreement_picture(
    pairs: Sequence[Pair], found: Differences, *, label: str, reported: tuple[float, str]
) -> SafeString:
    """Bland and Altman's: the mean of both across, judge − people up, bias and limits as lines.

    Runs that fall on the same place are drawn as one larger mark.

    Args:
        reported: a bias found elsewhere, to look at beside one's own, and what it is called.
    """
    figures = ((found.bias, "bias"), (found.lower_limit, "limit"), (found.upper_limit, "limit"))
    lines = [(value, kind) for value, kind in figures if not isinstance(value, Undefined)]
    lines.append((reported[0], "reported"))
    reach = _reach(pairs, [value for value, _ in lines if abs(value) <= 1])
    places = _places(pairs)
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        _draw_scales(axes, reach)
        _draw_lines(axes, lines, reach, reported[1])
        for (across, up), of_place in places.items():
            axes.plot(
                [LEFT + across * (RIGHT - LEFT)],
                [_height(up, reach)],
                marker="o",
                ls="",
                ms=min(6 + 2 * (len(of_place) - 1), 18),
                color=_ACCENT,
                alpha=0.7,
                url=of_place[0].url,
                gid=".point.agent",
            )
        titles = {each[0].url: _titles(each) for each in places.values()}
        return as_picture(figure, label, titles)


def _places(pairs: Sequence[Pair]) -> dict[tuple[float, float], list[Pair]]:
    """The pairs by where they are drawn: across, and up."""
    places: dict[tuple[float, float], list[Pair]] = {}
    for pair in pairs:
        at = round((pair.people + pair.judge) / 2, 6), round(pair.judge - pair.people, 6)
        places.setdefault(at, []).append(pair)
    return places


def _height(difference: float, reach: int) -> float:
    """Where a difference is drawn; what lies far beyond the reach, at the edge."""
    shown = max(-1.2, min(1.2, 100 * difference / reach))
    return (TOP + BOTTOM) / 2 - shown / 1.2 * (BOTTOM - TOP) / 2


def _draw_scales(axes: Axes, reach: int) -> None:
    for tick in (-reach, -reach / 2, 0, reach / 2, reach):
        y = _height(tick / 100, reach)
        kind = ".zero" if tick == 0 else ".grid"
        axes.plot([LEFT, RIGHT], [y, y], color=LINE, lw=1, gid=kind)
        words = f"{tick:+g}".replace("-", "−") if tick else "0"
        write(axes, LEFT - 6, y + 4, words, "axis", ha="right")
    for tick in (0, 25, 50, 75, 100):
        x = LEFT + tick / 100 * (RIGHT - LEFT)
        words = f"{formats.number_format(tick)} %"
        write(axes, x, BOTTOM + 16, words, "axis", ha="center")


def _draw_lines(axes: Axes, lines: Sequence[tuple[float, str]], reach: int, reported: str) -> None:
    """Bias and limits, each with its number at the right, and the reported bias with its name."""
    heights = [_height(value, reach) for value, _ in lines]
    for y, (_value, kind) in zip(heights, lines, strict=True):
        color = MUTED if kind == "reported" else _ACCENT
        axes.plot([LEFT, RIGHT], [y, y], color=color, lw=1.5, ls=_KINDS[kind], gid=f".line.{kind}")
    for y, (value, kind) in zip(apart(heights), lines, strict=True):
        words = f"{round(100 * value, 1):+.1f}".replace("-", "−")
        words = f"{words} {reported}" if kind == "reported" else words
        write(axes, RIGHT + 6, y + 4, words, "words")


def _titles(pairs: Sequence[Pair]) -> str:
    shown = [pair.title for pair in pairs[:5]]
    return "; ".join([*shown, f"… ({len(pairs)})"] if len(pairs) > len(shown) else shown)


def apart(heights: Sequence[float]) -> list[float]:
    """The heights moved down where two words would stand on one another."""
    moved = list(heights)
    before: float | None = None
    for place in sorted(range(len(moved)), key=moved.__getitem__):
        if before is not None:
            moved[place] = max(moved[place], before + LEAST_APART)
        before = moved[place]
    return moved
