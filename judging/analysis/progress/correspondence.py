"""How a judge's progress rates correspond with people's, and what either costs."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from statistics import median
from typing import NamedTuple

from django.db import models
from django.utils.translation import gettext_lazy as _

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
from judging.statistics.figures import Share
from judging.statistics.progress import MilestoneMatch

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
