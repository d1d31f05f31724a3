"""Anomalies noticed in the runs of an experiment, and successes that a recovery rescued."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KT
from django.db.models.functions import Cast, Coalesce, Greatest

from judging.analysis.experiments.figures import ExperimentFigures, Figures
from judging.analysis.experiments.population import DECIDED, RunResult, Scope
from judging.statistics.proportions import Share
from runs.models import Event
from runs.viewer.run_list.filters import ANOMALIES


@dataclass(frozen=True, slots=True, kw_only=True)
class Detections:
    """One configuration: its runs by how often an anomaly was noticed in them."""

    configuration: Figures
    successes: Mapping[int, int]
    failures: Mapping[int, int]
    rescued: int
    """Successes after at least one recovery."""
    recovered: int
    """Runs with a verdict in which there was a recovery."""

    @property
    def most(self) -> int:
        """The largest number of detections in a run."""
        return max([0, *self.successes, *self.failures])

    @property
    def numbers(self) -> Sequence[tuple[int, int, int]]:
        """(detections, successes, failures), from none to most."""
        return [
            (n, self.successes.get(n, 0), self.failures.get(n, 0)) for n in range(self.most + 1)
        ]

    @property
    def unaided(self) -> int:
        """Successes without recovery."""
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

    Recoveries are those that the run's own record tells, or its marks of going back where it
    tells none: an imported run may have only these.
    """
    told = Coalesce(Cast(KT("record__extra__recovery__recoveries"), IntegerField()), 0)
    counted: QuerySet[Any] = runs.annotate(
        detections=_marks(Event.objects.filter(kind__in=ANOMALIES)),
        recoveries=Greatest(told, _marks(Event.objects.filter(kind=Event.Kind.ROLLBACK))),
    )
    return counted


def detections_of(figures: ExperimentFigures, scope: Scope) -> list[Detections]:
    """All configurations, in one query: runs without any mark are what is left of the others."""
    marked = scope.standing(figures.source).filter(standing__in=DECIDED, has_anomaly=True)
    rows = with_detections(marked).values_list("agent", "standing", "detections", "recoveries")
    counts: Counter[tuple[int, str, int, bool]] = Counter()
    for agent, standing, detections, recoveries, n in rows.annotate(n=Count("*")):
        counts[agent, standing, detections, recoveries > 0] += n
    return [_detections(each, counts) for each in figures.configurations]


def _detections(
    configuration: Figures, counts: Mapping[tuple[int, str, int, bool], int]
) -> Detections:
    own = [(*key[1:], n) for key, n in counts.items() if key[0] == configuration.agent.pk]
    won: Counter[int] = Counter()
    lost: Counter[int] = Counter()
    for standing, detections, _recovered, n in own:
        (won if standing == RunResult.SUCCESS else lost)[detections] += n
    won[0] += configuration.successes - won.total()
    lost[0] += configuration.failures - lost.total()
    return Detections(
        configuration=configuration,
        successes=won,
        failures=lost,
        rescued=sum(n for word, _, again, n in own if again and word == RunResult.SUCCESS),
        recovered=sum(n for *_, again, n in own if again),
    )


def _marks(events: QuerySet[Event]) -> Coalesce:
    of_run = events.filter(run=OuterRef("pk")).order_by().values("run").annotate(n=Count("*"))
    return Coalesce(Subquery(of_run.values("n"), output_field=IntegerField()), 0)
