"""How runs ended, and how those that failed did so."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count

from judging.analysis.experiments.figures import ExperimentFigures, Figures
from judging.analysis.experiments.population import COUNTED, RunResult, Scope
from judging.analysis.failure_modes.shares import (
    ModeFigures,
    Reviewed,
    Told,
    count,
    reviewed,
    told_of,
)
from judging.analysis.failure_modes.told import Word, unlooked


@dataclass(frozen=True, slots=True, kw_only=True)
class Endings:
    """One configuration: counted runs by end reason and standing, the most frequent first."""

    configuration: Figures
    reasons: Sequence[tuple[str, Counter[RunResult]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureModes:
    """The failures of an experiment under one source, and what is told of each."""

    configurations: Sequence[Figures]
    runs: Sequence[Told]
    reviewed: Reviewed

    def by(self, word: Word) -> list[tuple[Figures, ModeFigures]]:
        """Every configuration under one word."""
        found: Mapping[int, ModeFigures] = count(self.runs, word)
        return [(each, found.get(each.agent.pk, ModeFigures(word))) for each in self.configurations]


def failure_modes_of(figures: ExperimentFigures, scope: Scope) -> FailureModes:
    """How the failures failed, in three queries."""
    standing = scope.standing(figures.source)
    failures = standing.filter(standing=RunResult.FAILURE)
    return FailureModes(
        configurations=figures.configurations,
        runs=told_of(failures, standing.filter(standing=RunResult.ERROR)),
        reviewed=reviewed(failures),
    )


def never_looked_at(figures: ExperimentFigures, scope: Scope) -> int:
    """Failures to which the fixed rules have not been applied: runs from before there were any."""
    standing = scope.standing(figures.source)
    return unlooked(standing.filter(standing=RunResult.FAILURE)).count()


def endings_of(figures: ExperimentFigures, scope: Scope) -> list[Endings]:
    """All configurations, in one query."""
    reasons: defaultdict[int, defaultdict[str, Counter[RunResult]]] = defaultdict(
        lambda: defaultdict(Counter)
    )
    standing = scope.standing(figures.source)
    counted = standing.filter(standing__in=COUNTED).values_list("agent", "end_reason", "standing")
    for agent, reason, word, n in counted.annotate(n=Count("*")):
        reasons[agent][reason][RunResult(word)] += n
    return [
        Endings(
            configuration=each,
            reasons=sorted(
                reasons[each.agent.pk].items(), key=lambda found: (-found[1].total(), found[0])
            ),
        )
        for each in figures.configurations
    ]
