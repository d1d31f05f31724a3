"""The picture of several trials: pass@k rises, pass^k falls, the best of k lies between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import formats
from django.utils.safestring import SafeString

from judging.analysis.pictures_progress import apart
from runs.interface.pictures import as_picture, canvas

WIDTH, HEIGHT = 404, 210
"""The names at the ends of the curves take as much room as the longest of any language."""
LEFT, RIGHT, TOP, BOTTOM = 40, 318, 12, 172
_MUTED, _LINE = "#585e67", "#dfe0dd"
_INK = {"pass-at": "#1f4ea3", "pass-hat": "#585e67", "best": "#886600"}
"""For the picture on its own; in a page, style sheets paint by class."""
_DASHES = {"pass-at": "-", "pass-hat": "--", "best": ":"}


@dataclass(frozen=True, slots=True)
class Curve:
    """A figure by k: (k, share), without those k for which there is none."""

    kind: str
    name: str
    points: Sequence[tuple[int, float]]


def trials_picture(curves: Sequence[Curve], *, label: str) -> SafeString:
    """Curves over k on one axis from 0 to 100 %, each with its name at the end."""
    drawn = [curve for curve in curves if curve.points]
    most = max((k for curve in drawn for k, _ in curve.points), default=1)

    def at(k: int, share: float) -> tuple[float, float]:
        across = (k - 1) / (most - 1) if most > 1 else 0.0
        return LEFT + across * (RIGHT - LEFT), BOTTOM - share * (BOTTOM - TOP)

    with canvas(WIDTH, HEIGHT) as (figure, axes):
        for tick in (0, 25, 50, 75, 100):
            y = at(1, tick / 100)[1]
            axes.plot([LEFT, RIGHT], [y, y], color=_LINE, lw=1, gid=".grid")
            words = f"{formats.number_format(tick)} %"
            axes.text(LEFT - 6, y + 4, words, ha="right", size=11, color=_MUTED, gid=".axis")
        for k in range(1, most + 1):
            x = at(k, 0)[0]
            axes.text(x, BOTTOM + 16, str(k), ha="center", size=11, color=_MUTED, gid=".axis")
        axes.text(
            (LEFT + RIGHT) / 2, HEIGHT - 6, "k", ha="center", size=11, color=_MUTED, gid=".axis"
        )
        heights = apart([at(*curve.points[-1])[1] for curve in drawn])
        for curve, height in zip(drawn, heights, strict=True):
            places = [at(*point) for point in curve.points]
            colour = _INK[curve.kind]
            axes.plot(
                [x for x, _ in places],
                [y for _, y in places],
                color=colour,
                lw=2,
                ls=_DASHES[curve.kind],
                gid=f".line.{curve.kind}",
            )
            axes.plot(
                [x for x, _ in places],
                [y for _, y in places],
                marker="o",
                ls="",
                ms=6,
                color=colour,
                gid=f".point.{curve.kind}",
            )
            axes.text(
                places[-1][0] + 8, height + 4, curve.name, size=12, color=_MUTED, gid=".words"
            )
        return as_picture(figure, label)
