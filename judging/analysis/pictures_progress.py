"""Pictures of progress: over the steps of runs, and a judge's against people's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils import formats
from django.utils.safestring import SafeString

from judging.statistics.correspondence import Differences
from judging.statistics.figures import Undefined
from runs.interface.pictures import as_picture, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 400, 220
LEFT, RIGHT, TOP, BOTTOM = 44, 308, 12, 178
_MUTED, _LINE, _ACCENT = "#585e67", "#dfe0dd", "#1f4ea3"
_INK = {"reached": _ACCENT, "held": "#886600", "solved": _MUTED}
"""For the picture on its own; in a page, style sheets paint by class."""
_DASHES = {"reached": "-", "held": "--", "solved": ":"}
_KINDS = {"bias": "-", "limit": "--", "reported": ":"}
_STRIDES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
_MOST_TICKS = 8
LEAST_APART = 14


@dataclass(frozen=True, slots=True)
class StepCurve:
    """A share after every number of steps, from 0; `kind` is reached, held or solved."""

    kind: str
    name: str
    shares: Sequence[float]


def progress_picture(curves: Sequence[StepCurve], *, label: str, axis: str) -> SafeString:
    """Curves over steps on one axis from 0 to 100 %, each with its name at the end."""
    longest = max((len(curve.shares) for curve in curves), default=1) - 1
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        for tick in (0, 25, 50, 75, 100):
            y = _down(tick / 100)
            axes.plot([LEFT, RIGHT], [y, y], color=_LINE, lw=1, gid=".grid")
            words = f"{formats.number_format(tick)} %"
            axes.text(LEFT - 6, y + 4, words, ha="right", size=11, color=_MUTED, gid=".axis")
        stride = next((s for s in _STRIDES if longest <= s * _MOST_TICKS), _STRIDES[-1])
        for step in range(0, longest + 1, stride):
            words = formats.number_format(step)
            x = _across(step, longest)
            axes.text(x, BOTTOM + 16, words, ha="center", size=11, color=_MUTED, gid=".axis")
        middle = (LEFT + RIGHT) / 2
        axes.text(middle, HEIGHT - 6, axis, ha="center", size=11, color=_MUTED, gid=".axis")
        ends = apart([_down(curve.shares[-1]) for curve in curves])
        for curve, end in zip(curves, ends, strict=True):
            across = [_across(step, longest) for step in range(len(curve.shares))]
            axes.plot(
                across,
                [_down(share) for share in curve.shares],
                color=_INK[curve.kind],
                lw=2,
                ls=_DASHES[curve.kind],
                gid=f".line.{curve.kind}",
            )
            axes.text(across[-1] + 8, end + 4, curve.name, size=12, color=_MUTED, gid=".words")
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
        axes.plot([LEFT, RIGHT], [y, y], color=_LINE, lw=1, gid=kind)
        words = f"{tick:+g}".replace("-", "−") if tick else "0"
        axes.text(LEFT - 6, y + 4, words, ha="right", size=11, color=_MUTED, gid=".axis")
    for tick in (0, 25, 50, 75, 100):
        x = LEFT + tick / 100 * (RIGHT - LEFT)
        words = f"{formats.number_format(tick)} %"
        axes.text(x, BOTTOM + 16, words, ha="center", size=11, color=_MUTED, gid=".axis")


def _draw_lines(axes: Axes, lines: Sequence[tuple[float, str]], reach: int, reported: str) -> None:
    """Bias and limits, each with its number at the right, and the reported bias with its name."""
    heights = [_height(value, reach) for value, _ in lines]
    for y, (_value, kind) in zip(heights, lines, strict=True):
        color = _MUTED if kind == "reported" else _ACCENT
        axes.plot([LEFT, RIGHT], [y, y], color=color, lw=1.5, ls=_KINDS[kind], gid=f".line.{kind}")
    for y, (value, kind) in zip(apart(heights), lines, strict=True):
        words = f"{round(100 * value, 1):+.1f}".replace("-", "−")
        words = f"{words} {reported}" if kind == "reported" else words
        axes.text(RIGHT + 6, y + 4, words, size=12, color=_MUTED, gid=".words")


def _titles(pairs: Sequence[Pair]) -> str:
    shown = [pair.title for pair in pairs[:5]]
    return "; ".join([*shown, f"… ({len(pairs)})"] if len(pairs) > len(shown) else shown)


def _across(step: int, longest: int) -> float:
    return LEFT + (step / longest if longest else 0.0) * (RIGHT - LEFT)


def _down(share: float) -> float:
    return BOTTOM - share * (BOTTOM - TOP)


def apart(heights: Sequence[float]) -> list[float]:
    """The heights moved down where two words would stand on one another."""
    moved = list(heights)
    before: float | None = None
    for place in sorted(range(len(moved)), key=moved.__getitem__):
        if before is not None:
            moved[place] = max(moved[place], before + LEAST_APART)
        before = moved[place]
    return moved
