"""How runs went: lengths, anomalies, recoveries, and what stopping early saved."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce, Greatest

from judging.analysis.counting import tally
from judging.analysis.experiments.figures import Configuration, ExperimentFigures
from judging.analysis.experiments.population import DECIDED, RunResult
from judging.statistics.figures import Share
from runs.launching.policies.words import Saving, saving_in
from runs.models import Event, Run
from runs.viewer.run_list.filters import ANOMALIES

MOST_BINS = 10
WIDTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Length(NamedTuple):
    """Runs of a configuration with `first` to `last` steps.

    `within`: successes of up to `last` steps, of all its runs with a verdict.
    """

    configuration: Configuration
    first: int
    last: int
    share: Share
    within: Share

    @property
    def words(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


def lengths_of(figures: ExperimentFigures) -> list[Length]:
    """All configurations in one query; the ranges are the same for all of them."""
    counts = figures.scope.counts(figures.source, "agent", "n_steps", "standing", among=DECIDED)
    most = max((steps for _agent, steps, _standing in counts), default=0)
    width = next((each for each in WIDTHS if most <= each * MOST_BINS), -(-most // MOST_BINS))
    runs: Counter[tuple[int, int]] = Counter()
    won: Counter[tuple[int, int]] = Counter()
    for (agent, steps, standing), n in counts.items():
        place = max(steps - 1, 0) // width
        runs[agent, place] += n
        won[agent, place] += n if standing == RunResult.SUCCESS else 0
    lengths = []
    for each in figures.configurations:
        solved = 0
        for place in range(max(most - 1, 0) // width + 1):
            solved += won[each.pk, place]
            # Runs without any step stand in the first range.
            first = place * width + 1 if place else min(1, most)
            share = Share(won[each.pk, place], runs[each.pk, place])
            last = (place + 1) * width
            lengths.append(Length(each, first, last, share, Share(solved, each.decided)))
    return lengths


class Detections:
    """One configuration: its runs by how often an anomaly was noticed in them.

    Args:
        counts: runs by configuration, result, detections and recoveries, of those with a mark.
    """

    def __init__(self, configuration: Configuration, counts: Mapping[Any, int]) -> None:
        own = [(*key[1:], n) for key, n in counts.items() if key[0] == configuration.pk]
        won: Counter[int] = Counter()
        lost: Counter[int] = Counter()
        for standing, detections, _recoveries, n in own:
            (won if standing == RunResult.SUCCESS else lost)[detections] += n
        won[0] += configuration.successes - won.total()
        lost[0] += configuration.failures - lost.total()
        recovered = [(standing, n) for standing, _, recoveries, n in own if recoveries > 0]
        self.configuration, self.successes, self.failures = configuration, won, lost
        self.rescued: int = sum(n for standing, n in recovered if standing == RunResult.SUCCESS)
        """Successes after at least one recovery."""
        self.recovered = sum(n for _, n in recovered)
        """Runs with a verdict in which there was a recovery."""

    @property
    def most(self) -> int:
        return max([0, *self.successes, *self.failures])

    @property
    def numbers(self) -> Sequence[tuple[int, int, int]]:
        """(detections, successes, failures), from none to most."""
        return [
            (n, self.successes.get(n, 0), self.failures.get(n, 0)) for n in range(self.most + 1)
        ]

    @property
    def unaided(self) -> int:
        return self.configuration.successes - self.rescued

    @property
    def without_recovery(self) -> Share:
        """The success rate if what was rescued had failed."""
        return Share(self.unaided, self.configuration.decided)

    @property
    def among_detected(self) -> Share:
        """Successes among the runs with at least one detection."""
        won = sum(n for times, n in self.successes.items() if times)
        lost = sum(n for times, n in self.failures.items() if times)
        return Share(won, won + lost)

    @property
    def among_recovered(self) -> Share:
        """Successes among the runs in which there was a recovery."""
        return Share(self.rescued, self.recovered)


def with_detections(runs: QuerySet[Any]) -> QuerySet[Any]:
    """The runs with `detections` and `recoveries`: how often each was marked or recorded.

    Recoveries are those of the run's own record, or its marks of going back where the record has
    none: an imported run may have only these.
    """
    recorded = Coalesce(Cast(KT("record__extra__recovery__recoveries"), IntegerField()), 0)
    counted: QuerySet[Any] = runs.annotate(
        detections=_marks(Event.objects.filter(kind__in=ANOMALIES)),
        recoveries=Greatest(recorded, _marks(Event.objects.filter(kind=Event.Kind.ROLLBACK))),
    )
    return counted


def detections_of(figures: ExperimentFigures) -> list[Detections]:
    """All configurations, in one query: runs without any mark are what is left of the others."""
    marked = figures.scope.standing(figures.source).filter(standing__in=DECIDED, has_anomaly=True)
    counts = tally(with_detections(marked), "agent", "standing", "detections", "recoveries")
    return [Detections(each, counts) for each in figures.configurations]


def _marks(events: QuerySet[Event]) -> Coalesce:
    of_run = events.filter(run=OuterRef("pk")).order_by().values("run").annotate(n=Count("*"))
    return Coalesce(Subquery(of_run.values("n"), output_field=IntegerField()), 0)


class Looped(NamedTuple):
    """Runs of a configuration with a loop, by both comparisons of steps, of those looked at."""

    configuration: Configuration
    by_actions: Share
    by_actions_and_page: Share
    not_looked_at: int


def loops_of(figures: ExperimentFigures) -> list[Looped]:
    """All configurations, in one query. What retry policies noticed has no part in it."""
    counts = figures.scope.counts(figures.source, "agent", "loop")
    found = []
    for each in figures.configurations:
        of = {loop: n for (agent, loop), n in counts.items() if agent == each.pk}
        unknown, both = of.pop(None, 0), of.get(Run.Loop.ACTIONS_AND_PAGE, 0)
        looked_at, either = sum(of.values()), both + of.get(Run.Loop.ACTIONS, 0)
        found.append(Looped(each, Share(either, looked_at), Share(both, looked_at), unknown))
    return found


class StoppedEarly(NamedTuple):
    """How many runs were stopped, and at most how much more they could have taken."""

    runs: int = 0
    saved: Saving = Saving(0, None)


def stopped_early(figures: ExperimentFigures) -> Mapping[int, StoppedEarly]:
    """By configuration, of the runs that count; in one query."""
    stopped = figures.scope.counted(figures.source).filter(
        end_reason=Run.EndReason.HARNESS_LOOP_STOP
    )
    found: dict[int, StoppedEarly] = {}
    rows = stopped.values_list("agent", "n_steps", "cost", "record__extra__recovery")
    for agent, n_steps, cost, recovery in rows:
        before = found.get(agent, StoppedEarly())
        recorded = recovery if isinstance(recovery, dict) else {}
        saved = before.saved + saving_in(recorded, n_steps, cost)
        found[agent] = StoppedEarly(before.runs + 1, saved)
    return found
