"""What people ticked in a study, beside a source of progress on the same runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple
from uuid import UUID

from django.http import QueryDict
from django.utils.http import urlencode
from django.utils.translation import gettext

from judging.analysis.audits.population import listed_items
from judging.analysis.audits.verdict_sources import in_order
from judging.analysis.progress.correspondence import (
    WAGE,
    Cell,
    Correspondence,
    Costs,
    MilestoneFigures,
    milestone_figures,
    of_measurements,
    pooled,
)
from judging.analysis.progress.sources import (
    Missing,
    ProgressSource,
    RunProgress,
    milestones_of,
    progress_by,
)
from judging.evaluators.milestones import PROGRESS_EVALUATORS
from judging.models import Evaluation, EvaluatorVersion, Label, MilestoneTick, Study, StudyItem
from judging.statistics.progress import MilestoneMatch
from runs.models import Run
from runs.models.parsing import LONGEST_NUMBER, QueryError, read_amount, read_choice, read_whole

TOLERANCES = (0, 5, 10, 20)
"""Points that judge and people may lie apart and still be said to agree."""
MOST_WAGE = 10_000
MOST_FAR = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleQuery:
    """Which judge, how near is near, what an hour costs, and a cell of a milestone."""

    evaluator: str = ""
    tolerance: int = 10
    wage: float = WAGE
    task: int | None = None
    milestone: str = ""
    cell: Cell | None = None

    @property
    def wage_text(self) -> str:
        """The wage as a form field holds it, in any language."""
        return f"{self.wage:g}"


def read_people_query(query: QueryDict) -> PeopleQuery:
    """What the address asks. Raises QueryError where a value is none that there could be."""
    tolerance, wage = query.get("tolerance") or "10", read_amount(query, "wage", 0, MOST_WAGE)
    if tolerance not in map(str, TOLERANCES):
        raise QueryError("tolerance")
    return PeopleQuery(
        evaluator=query.get("evaluator", ""),
        tolerance=int(tolerance),
        wage=WAGE if wage is None else wage,
        task=read_whole(query, "task", 0, 10**LONGEST_NUMBER),
        milestone=query.get("milestone", ""),
        cell=read_choice(query, "cell", Cell),
    )


class Ticked(NamedTuple):
    """One settled run that people ticked milestones of."""

    item: int
    position: int
    run: UUID
    task: int
    task_name: str
    site: str
    people: RunProgress


class Pair(NamedTuple):
    """The same run by people and by a judge."""

    ticked: Ticked
    judge: RunProgress
    cost: Decimal | None

    @property
    def gap(self) -> float:
        """Judge − people, of the highest progress."""
        return self.judge.maximum - self.ticked.people.maximum


class Against(NamedTuple):
    """One evaluator of milestones against the people of a study."""

    evaluator: EvaluatorVersion
    pairs: Sequence[Pair]
    missing: Mapping[Missing, int]
    """Runs with ticks that it says nothing of."""


class PeopleFacts:
    """What people ticked in a study, and every evaluator that speaks of the same runs.

    Read in a number of queries that no run adds to. `against` is the evaluator that is asked for,
    or the one that speaks of most runs; None where none speaks of any.
    """

    def __init__(self, study: Study, query: PeopleQuery) -> None:
        self.study = study
        self.query = query
        items = StudyItem.objects.filter(study=study, status=StudyItem.Status.SETTLED)
        runs = Run.objects.filter(pk__in=items.values("run"))
        milestones = milestones_of(runs.order_by().values("task"))
        people = progress_by(ProgressSource(), runs, milestones, study)
        rows = items.order_by("position").values_list(
            "pk", "position", "run", "run__task", "run__task__external_id", "run__task__site"
        )
        self.ticked = [
            Ticked(*row, found)
            for row in rows
            if isinstance(found := people.get(row[2]), RunProgress)
        ]
        known = Run.objects.filter(pk__among=[each.run for each in self.ticked])
        spoken = EvaluatorVersion.objects.filter(
            name__in=PROGRESS_EVALUATORS, evaluations__run__in=known, evaluations__is_current=True
        )
        ticks = MilestoneTick.objects.filter(label__item__among=[each.item for each in self.ticked])
        timed = Label.objects.filter(pk__in=ticks.values("label"), is_repeat=False, seconds__gt=0)
        self.label_seconds = list(timed.values_list("seconds", flat=True))
        """How long each label with ticks took, where that was measured."""
        self.settled = items.count()
        """Settled runs in all, ticked or not."""
        self.evaluators = [
            _against(each, self.ticked, progress_by(ProgressSource(each), known, milestones))
            for each in in_order(spoken.distinct())
        ]
        most = max(self.evaluators, key=lambda each: len(each.pairs), default=None)
        named = (each for each in self.evaluators if str(each.evaluator.pk) == query.evaluator)
        self.against: Against | None = next(named, most)

    @property
    def pairs(self) -> Sequence[Pair]:
        return self.against.pairs if self.against else []

    @property
    def is_measured(self) -> bool:
        """Whether evaluators know how far any of the study's settled runs got."""
        runs = StudyItem.objects.filter(study=self.study, status=StudyItem.Status.SETTLED)
        said = Evaluation.objects.filter(run__in=runs.values("run"), is_current=True)
        return said.filter(evaluator__name__in=PROGRESS_EVALUATORS, score__isnull=False).exists()

    @property
    def between_people(self) -> list[tuple[float, float]]:
        """Every two people on the same run: both rates."""
        return [pair for each in self.ticked for pair in combinations(each.people.by_each, 2)]

    @property
    def tolerance(self) -> float:
        return self.query.tolerance / 100

    @cached_property
    def whole(self) -> Correspondence:
        return self.of_site()

    def of_site(self, site: str | None = None) -> Correspondence:
        """The figures over the runs on a site, or over all."""
        pairs = [pair for pair in self.pairs if site in (None, pair.ticked.site)]
        return of_measurements(
            [pair.ticked.people.maximum for pair in pairs],
            [pair.judge.maximum for pair in pairs],
            [pair.ticked.task for pair in pairs],
            self.tolerance,
        )

    @cached_property
    def milestones(self) -> list[MilestoneFigures]:
        return milestone_figures(
            (each.task, each.task_name, each.item, each.people, judge)
            for each, judge, _cost in self.pairs
        )

    @property
    def together(self) -> MilestoneMatch | None:
        """All milestones of all runs."""
        return pooled(self.milestones) if self.milestones else None

    @property
    def rule(self) -> str:
        return ProgressSource(self.against.evaluator).rule if self.against else ""

    @property
    def partial(self) -> int:
        return sum(pair.judge.is_partial for pair in self.pairs)

    @property
    def missing(self) -> list[tuple[Any, int]]:
        """Ticked runs without a progress rate of the judge, by why."""
        found = self.against.missing if self.against else {}
        return [(each.label, n) for each in Missing if (n := found.get(each))]

    @property
    def costs(self) -> Costs:
        return Costs(
            [pair.cost for pair in self.pairs],
            self.label_seconds,
            [len(each.people.by_each) for each in self.ticked],
            self.query.wage,
        )

    @property
    def farthest(self) -> list[Pair]:
        """The runs on which they lie farther apart than the tolerance, farthest first."""
        apart = [pair for pair in self.pairs if abs(pair.gap) > self.tolerance + 1e-9]
        return sorted(apart, key=lambda pair: (-abs(pair.gap), pair.ticked.position))[:MOST_FAR]

    @property
    def parameters(self) -> str:
        """What leads to the same figures, behind the question mark of an address."""
        query: dict[str, str | int] = {
            "tolerance": self.query.tolerance,
            "wage": self.query.wage_text,
        }
        return urlencode(query | ({"evaluator": self.against.evaluator.pk} if self.against else {}))

    def title(self, about: str) -> str:
        return f"{self.study.name}: {about}"

    @property
    def notes(self) -> list[str]:
        judge = self.against.evaluator.shown if self.against else gettext("none")
        return [
            gettext("Judge: %(judge)s. %(rule)s") % {"judge": judge, "rule": self.rule},
            gettext("Tolerance: %(n)s points. Rates lie between 0 and 1.")
            % {"n": self.query.tolerance},
            gettext(
                "Of two people neither comes first: r is the intraclass correlation, with no bias."
            ),
        ]

    @property
    def items(self) -> list[StudyItem]:
        """The runs behind the chosen cell of a milestone, in the study's order."""
        chosen = self.query
        if chosen.cell is None:
            return []
        of_milestone = (
            each.items[chosen.cell]
            for each in self.milestones
            if (each.task, each.name) == (chosen.task, chosen.milestone)
        )
        return listed_items(next(of_milestone, []))


def _against(
    evaluator: EvaluatorVersion,
    ticked: Sequence[Ticked],
    progress: Mapping[UUID, RunProgress | Missing],
) -> Against:
    current = Evaluation.objects.filter(evaluator=evaluator, is_current=True, run__among=progress)
    costs = dict(current.values_list("run", "cost"))
    said = [(each, progress.get(each.run, Missing.NOT_ASKED)) for each in ticked]
    return Against(
        evaluator,
        [Pair(each, by, costs.get(each.run)) for each, by in said if isinstance(by, RunProgress)],
        Counter(judge for _, judge in said if isinstance(judge, Missing)),
    )
