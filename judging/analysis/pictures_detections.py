"""The picture of anomalies noticed per run: successes at the left, failures at the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils import formats
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from runs.interface.pictures import as_picture, canvas

WIDTH, HEIGHT = 380, 200
MARGIN, GAP = 8, 28
TOP, BOTTOM = 44, 158
_INK, _MUTED, _LINE = "#1a1c20", "#585e67", "#dfe0dd"
_MEANING = {"success": "#00695c", "failure": "#95120b"}
"""For the picture on its own; in a page, style sheets paint by class."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Runs with so many detections, and where they are listed."""

    name: str
    runs: int
    url: str


def detections_picture(
    successes: Sequence[Bar], failures: Sequence[Bar], *, label: str
) -> SafeString:
    """Two histograms on one scale, the number over each bar."""
    most = max([1, *(bar.runs for bar in (*successes, *failures))])
    width = (WIDTH - 2 * MARGIN - GAP) / 2
    titles: dict[str, str] = {}
    with canvas(WIDTH, HEIGHT) as (figure, axes):
        # As `canvas` does: Matplotlib is loaded by those who draw.
        from matplotlib.patches import Rectangle

        sides = (("success", _("successes"), successes), ("failure", _("failures"), failures))
        for number, (kind, title, bars) in enumerate(sides):
            left = MARGIN + number * (width + GAP)
            axes.text(left, 14, title, size=13, color=_INK, gid=".name")
            axes.plot([left, left + width], [BOTTOM, BOTTOM], color=_LINE, lw=1, gid=".grid")
            step = width / max(len(bars), 1)
            for place, bar in enumerate(bars):
                x, height = left + place * step, bar.runs / most * (BOTTOM - TOP)
                middle = x + step / 2
                axes.add_patch(
                    Rectangle(
                        (x + 0.14 * step, BOTTOM - height),
                        0.72 * step,
                        height,
                        color=_MEANING[kind],
                        linewidth=0,
                        url=bar.url if bar.runs else None,
                        gid=f".bar.{kind}",
                    )
                )
                if bar.runs and bar.url:
                    titles[bar.url] = f"{title}, {bar.name}: {formats.number_format(bar.runs)}"
                count = formats.number_format(bar.runs)
                axes.text(
                    middle,
                    BOTTOM - height - 5,
                    count,
                    size=12,
                    ha="center",
                    color=_MUTED,
                    gid=".words",
                )
                axes.text(
                    middle,
                    BOTTOM + 15,
                    bar.name,
                    size=11,
                    ha="center",
                    color=_MUTED,
                    gid=".axis",
                )
        axes.text(
            WIDTH / 2,
            HEIGHT - 6,
            _("anomalies noticed in a run"),
            size=11,
            ha="center",
            color=_MUTED,
            gid=".axis",
        )
        return as_picture(figure, label, titles)
