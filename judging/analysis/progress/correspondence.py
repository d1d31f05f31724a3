"""How a judge's progress rates correspond with people's, drawn too, and what either costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from django.db import models
from django.utils import formats
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from judging.analysis.pictures import MEANING, STEPS, apart
from judging.analysis.progress.sources import RunProgress
from judging.statistics.comparison import Difference, paired_difference
from judging.statistics.correspondence import (
    Correlation,
    Differences,
    agreement,
    differences,
    differences_of_equals,
    intraclass,
    pearson,
)
from judging.statistics.figures import Share, Undefined
from judging.statistics.progress import MilestoneMatch
from runs.interface.pictures import LINE, MUTED, as_picture, canvas, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WAGE = 20.0
"""Dollars an hour, unless chosen otherwise: an assumption, and said to be one."""
_HOUR_S = 3600


class Cell(models.TextChoices):
    """What judge and people say of a milestone in one run."""

    BOTH = "both", _("both")
    JUDGE = "judge", _("judge alone")
    PEOPLE = "people", _("people alone")
    NEITHER = "neither", _("neither")
    DIVIDED = "divided", _("people are divided")


class Correspondence(NamedTuple):
    """How two measurements of the same runs correspond; rates in [0, 1]."""

    correlation: Correlation
    agreement: Share
    differences: Differences
    by_task: Difference
    """The bias with an interval that knows that runs share tasks."""


def of_measurements(
    people: Sequence[float], judge: Sequence[float], tasks: Sequence[int], tolerance: float
) -> Correspondence:
    """The figures of two measurements, judge − people."""
    gaps = [said - ticked for ticked, said in zip(people, judge, strict=True)]
    return Correspondence(
        pearson(people, judge),
        agreement(people, judge, tolerance),
        differences(people, judge, largest=1.0),
        paired_difference(gaps, tasks, largest=1.0),
    )


def of_equals(first: Sequence[float], second: Sequence[float], tolerance: float) -> Correspondence:
    """The figures of pairs of people, of whom neither is the measure of the other."""
    found = differences_of_equals(first, second)
    return Correspondence(
        intraclass(first, second),
        agreement(first, second, tolerance),
        found,
        Difference(value=found.bias, interval=found.bias_interval),
    )


class MilestoneFigures(NamedTuple):
    """One milestone of one task: the study's items by what judge and most people say of it."""

    task: int
    task_name: str
    name: str
    items: Mapping[Cell, Sequence[int]]

    @property
    def match(self) -> MilestoneMatch:
        return pooled([self])


def milestone_figures(
    runs: Iterable[tuple[int, str, int, RunProgress, RunProgress]],
) -> list[MilestoneFigures]:
    """Every milestone by itself, in the order of the tasks' names.

    People say that it was reached where more of them ticked it than not; where as many did as
    did not, they are divided, and the run counts for nothing. Milestones that the judge did not
    speak of in a run count for nothing there.

    Args:
        runs: task, its name, item of the study, progress by people and by the judge.
    """
    cells: defaultdict[tuple[str, int, str], dict[Cell, list[int]]] = defaultdict(
        lambda: {cell: [] for cell in Cell}
    )
    for task, task_name, item, people, judge in runs:
        found = {one.name: one.achieved_at is not None for one in judge.findings[0]}
        for name, votes in people.votes.items():
            if name in found:
                cells[task_name, task, name][_cell(found[name], votes)].append(item)
    return [
        MilestoneFigures(task, task_name, name, items)
        for (task_name, task, name), items in sorted(cells.items(), key=lambda each: each[0][:2])
    ]


def _cell(is_found: bool, votes: Sequence[bool]) -> Cell:
    if 2 * sum(votes) == len(votes):
        return Cell.DIVIDED
    is_ticked = 2 * sum(votes) > len(votes)
    if is_found:
        return Cell.BOTH if is_ticked else Cell.JUDGE
    return Cell.PEOPLE if is_ticked else Cell.NEITHER


def pooled(figures: Sequence[MilestoneFigures]) -> MilestoneMatch:
    """These milestones over all runs, taken together."""
    n = {cell: sum(len(each.items[cell]) for each in figures) for cell in Cell}
    return MilestoneMatch(
        both=n[Cell.BOTH],
        judge_alone=n[Cell.JUDGE],
        people_alone=n[Cell.PEOPLE],
        neither=n[Cell.NEITHER],
    )


class Costs:
    """Dollars per run, of judging and of labels. None where nothing is known; unknown costs are
    left out and counted.

    Args:
        judged: the cost of each evaluation, None where it is unknown.
        label_seconds: of the labels whose time was measured.
        labels_by_run: how many labels each run has, measured or not.
    """

    def __init__(
        self,
        judged: Sequence[Decimal | None],
        label_seconds: Sequence[float],
        labels_by_run: Sequence[int],
        wage: float,
    ) -> None:
        known = [float(cost) for cost in judged if cost is not None]
        paid = [cost for cost in known if cost > 0]
        self.runs, self.priced = len(judged), len(known)
        """Runs, and those whose judging has a known cost."""
        self.kept = len(known) - len(paid)
        """Of these, runs that cost nothing: the reply was there from before."""
        # Replies kept from before cost nothing again, which says nothing of their price.
        self.judged = sum(paid) / len(paid) if paid else (0.0 if known else None)
        self.labels = n = len(label_seconds)
        """Labels with ticks of which the time was measured."""
        self.label_seconds = sum(label_seconds) / n if n else None
        self.median_seconds = median(label_seconds) if n else None
        self.labels_per_run = sum(labels_by_run) / len(labels_by_run) if labels_by_run else 0.0
        self.wage = wage

    @property
    def label(self) -> float | None:
        """Dollars for one label."""
        return None if self.label_seconds is None else self.label_seconds / _HOUR_S * self.wage

    @property
    def people(self) -> float | None:
        """Dollars for all labels of a run."""
        return None if self.label is None else self.label * self.labels_per_run

    @property
    def times(self) -> float | None:
        """How many times dearer people are; None where either is unknown or the judge is free."""
        return self.people / self.judged if self.people is not None and self.judged else None


_KINDS = {"bias": "-", "limit": "--", "reported": ":"}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = STEPS


@dataclass(frozen=True, slots=True)
class Mark:
    """People's progress and the judge's for one run, in [0, 1], with where the run is."""

    people: float
    judge: float
    url: str
    title: str


def _reach(pairs: Sequence[Mark], lines: Sequence[float]) -> int:
    """The points up and down that hold all marks and lines: 25, 50 or 100."""
    farthest = max([abs(each.judge - each.people) for each in pairs] + [abs(x) for x in lines])
    return next((reach for reach in (25, 50) if 100 * farthest <= reach), 100)


def agreement_picture(
    pairs: Sequence[Mark], found: Differences, *, label: str, reported: tuple[float, str]
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
                color=MEANING["people"],
                alpha=0.7,
                url=of_place[0].url,
                gid=".point.agent",
            )
        titles = {each[0].url: _titles(each) for each in places.values()}
        return as_picture(figure, label, titles)


def _places(pairs: Sequence[Mark]) -> dict[tuple[float, float], list[Mark]]:
    """The pairs by where they are drawn: across, and up."""
    places: dict[tuple[float, float], list[Mark]] = {}
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
        color = MUTED if kind == "reported" else MEANING["people"]
        axes.plot([LEFT, RIGHT], [y, y], color=color, lw=1.5, ls=_KINDS[kind], gid=f".line.{kind}")
    for y, (value, kind) in zip(apart(heights), lines, strict=True):
        words = f"{round(100 * value, 1):+.1f}".replace("-", "−")
        words = f"{words} {reported}" if kind == "reported" else words
        write(axes, RIGHT + 6, y + 4, words, "words")


def _titles(pairs: Sequence[Mark]) -> str:
    shown = [pair.title for pair in pairs[:5]]
    return "; ".join([*shown, f"… ({len(pairs)})"] if len(pairs) > len(shown) else shown)
