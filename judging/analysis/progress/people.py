"""A source of progress held against what people ticked in a study."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import combinations
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.analysis.audits.verdict_sources import in_order
from judging.analysis.progress.measured import Missing, RunProgress, milestones_of, progress_by
from judging.analysis.progress.sources import ProgressSource
from judging.evaluators.milestones import PROGRESS_EVALUATORS
from judging.models import (
    Evaluation,
    EvaluatorVersion,
    Label,
    MilestoneTick,
    Study,
    StudyItem,
)
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
from judging.statistics.progress import MilestoneMatch, match_milestone
from runs.models import Run


class Cell(StrEnum):
    """What judge and people say of a milestone in one run."""

    BOTH = "both"
    JUDGE = "judge"
    PEOPLE = "people"
    NEITHER = "neither"
    DIVIDED = "divided"


CELLS: Mapping[Cell, Promise] = {
    Cell.BOTH: _("both say it was reached"),
    Cell.JUDGE: _("the judge says so alone"),
    Cell.PEOPLE: _("people say so alone"),
    Cell.NEITHER: _("neither says so"),
    Cell.DIVIDED: _("people are divided"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked:
    """One settled run that people ticked milestones of."""

    item: int
    position: int
    run: UUID
    task: int
    task_name: str
    site: str
    people: RunProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The same run by people and by a judge."""

    ticked: Ticked
    judge: RunProgress
    cost: Decimal | None

    @property
    def gap(self) -> float:
        """Judge − people, of the highest progress."""
        return self.judge.maximum - self.ticked.people.maximum


@dataclass(frozen=True, slots=True, kw_only=True)
class Correspondence:
    """How two measurements of the same runs correspond; rates in [0, 1]."""

    correlation: Correlation
    agreement: Share
    differences: Differences
    by_task: Difference
    """The bias with an interval that knows that runs share tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MilestoneFigures:
    """One milestone of one task: what the judge says of it, and what most people do."""

    task: int
    task_name: str
    name: str
    match: MilestoneMatch
    divided: int
    items: Mapping[Cell, Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """One evaluator of milestones against the people of a study."""

    evaluator: EvaluatorVersion
    pairs: Sequence[Pair]
    missing: Mapping[Missing, int]
    """Runs with ticks that it says nothing of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleProgress:
    """What people ticked in a study, and every evaluator that speaks of the same runs."""

    study: Study
    ticked: Sequence[Ticked]
    settled: int
    """Settled runs in all, ticked or not."""
    label_seconds: Sequence[float]
    """How long each label with ticks took, where that was measured."""
    against: Sequence[Against]

    def of(self, evaluator_id: str) -> Against | None:
        """The one of that number, or the one that speaks of most runs; None without any."""
        named = [each for each in self.against if str(each.evaluator.pk) == evaluator_id]
        most = max(self.against, key=lambda each: len(each.pairs), default=None)
        return named[0] if named else most

    @property
    def between_people(self) -> list[tuple[float, float]]:
        """Every two people on the same run: both rates."""
        return [
            (first, second)
            for each in self.ticked
            for first, second in combinations(each.people.by_each, 2)
        ]


def people_progress(study: Study) -> PeopleProgress:
    """Everything that the page speaks of, in a number of queries that no run adds to."""
    items = StudyItem.objects.filter(study=study, status=StudyItem.Status.SETTLED)
    runs = Run.objects.filter(pk__in=items.values("run"))
    milestones = milestones_of(runs.order_by().values("task"))
    people = progress_by(ProgressSource(), runs, milestones, study)
    rows = items.order_by("position").values_list(
        "pk", "position", "run", "run__task", "run__task__external_id", "run__task__site"
    )
    ticked = [
        Ticked(
            item=pk,
            position=position,
            run=run,
            task=task,
            task_name=name,
            site=site,
            people=found,
        )
        for pk, position, run, task, name, site in rows
        if isinstance(found := people.get(run), RunProgress)
    ]
    known = Run.objects.filter(pk__among=[each.run for each in ticked])
    spoken = EvaluatorVersion.objects.filter(
        name__in=PROGRESS_EVALUATORS, evaluations__run__in=known, evaluations__is_current=True
    )
    with_ticks = MilestoneTick.objects.filter(label__item__among=[each.item for each in ticked])
    seconds = Label.objects.filter(
        pk__in=with_ticks.values("label"), is_repeat=False, seconds__gt=0
    ).values_list("seconds", flat=True)
    return PeopleProgress(
        study=study,
        ticked=ticked,
        settled=items.count(),
        label_seconds=list(seconds),
        against=[
            _against(evaluator, ticked, progress_by(ProgressSource(evaluator), known, milestones))
            for evaluator in in_order(spoken.distinct())
        ],
    )


def correspondence(
    people: Sequence[float], judge: Sequence[float], tasks: Sequence[int], tolerance: float
) -> Correspondence:
    """The figures of two measurements, judge − people."""
    gaps = [said - ticked for ticked, said in zip(people, judge, strict=True)]
    return Correspondence(
        correlation=pearson(people, judge),
        agreement=agreement(people, judge, tolerance),
        differences=differences(people, judge, largest=1.0),
        by_task=paired_difference(gaps, tasks, largest=1.0),
    )


def of_equals(first: Sequence[float], second: Sequence[float], tolerance: float) -> Correspondence:
    """The figures of pairs of people, of whom neither is the measure of the other."""
    found = differences_of_equals(first, second)
    return Correspondence(
        correlation=intraclass(first, second),
        agreement=agreement(first, second, tolerance),
        differences=found,
        by_task=Difference(value=found.bias, interval=found.bias_interval),
    )


def of_pairs(pairs: Sequence[Pair], tolerance: float) -> Correspondence:
    """The figures over these runs."""
    return correspondence(
        [pair.ticked.people.maximum for pair in pairs],
        [pair.judge.maximum for pair in pairs],
        [pair.ticked.task for pair in pairs],
        tolerance,
    )


def milestone_figures(pairs: Sequence[Pair]) -> list[MilestoneFigures]:
    """Every milestone by itself, in the order of the tasks' names.

    People say that it was reached where more of them ticked it than not; where as many did as
    did not, they are divided, and the run counts for nothing. Milestones that the judge did not
    speak of in a run count for nothing there.
    """
    cells: defaultdict[tuple[str, int, str], defaultdict[Cell, list[int]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for pair in pairs:
        found = {one.name: bool(one.spans) for one in pair.judge.findings[0]}
        for name, votes in _votes(pair.ticked.people).items():
            if name in found:
                cell = _cell(found[name], votes)
                cells[pair.ticked.task_name, pair.ticked.task, name][cell].append(pair.ticked.item)
    return [
        MilestoneFigures(
            task=task,
            task_name=task_name,
            name=name,
            match=_match(items),
            divided=len(items[Cell.DIVIDED]),
            items=items,
        )
        for (task_name, task, name), items in sorted(cells.items(), key=lambda each: each[0][:2])
    ]


def pooled(figures: Sequence[MilestoneFigures]) -> MilestoneMatch:
    """All milestones of all runs together."""
    return MilestoneMatch(
        both=sum(each.match.both for each in figures),
        judge_alone=sum(each.match.judge_alone for each in figures),
        people_alone=sum(each.match.people_alone for each in figures),
        neither=sum(each.match.neither for each in figures),
    )


def _against(
    evaluator: EvaluatorVersion,
    ticked: Sequence[Ticked],
    progress: Mapping[UUID, RunProgress | Missing],
) -> Against:
    current = Evaluation.objects.filter(evaluator=evaluator, is_current=True, run__among=progress)
    costs = dict(current.values_list("run", "cost"))
    said = [(each, progress.get(each.run, Missing.NOT_ASKED)) for each in ticked]
    return Against(
        evaluator=evaluator,
        pairs=[
            Pair(ticked=each, judge=judge, cost=costs.get(each.run))
            for each, judge in said
            if isinstance(judge, RunProgress)
        ],
        missing=Counter(judge for _, judge in said if isinstance(judge, Missing)),
    )


def _votes(people: RunProgress) -> dict[str, list[bool]]:
    votes: defaultdict[str, list[bool]] = defaultdict(list)
    for findings in people.findings:
        for one in findings:
            votes[one.name].append(bool(one.spans))
    return votes


def _cell(is_found: bool, votes: Sequence[bool]) -> Cell:
    if 2 * sum(votes) == len(votes):
        return Cell.DIVIDED
    is_ticked = 2 * sum(votes) > len(votes)
    if is_found:
        return Cell.BOTH if is_ticked else Cell.JUDGE
    return Cell.PEOPLE if is_ticked else Cell.NEITHER


def _match(items: Mapping[Cell, Sequence[int]]) -> MilestoneMatch:
    meaning = {
        Cell.BOTH: (True, True),
        Cell.JUDGE: (True, False),
        Cell.PEOPLE: (False, True),
        Cell.NEITHER: (False, False),
    }
    return match_milestone([pair for cell, pair in meaning.items() for _ in items.get(cell, ())])
