"""Success by number of steps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count

from judging.analysis.experiments.figures import ExperimentFigures, Figures
from judging.analysis.experiments.population import DECIDED, RunResult, Scope
from judging.statistics.proportions import Share

MOST_BINS = 10
WIDTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True)
class Bin:
    """Runs of `first` to `last` steps, and the successes among them."""

    first: int
    last: int
    share: Share
    within: Share
    """Successes of up to `last` steps, of all runs with a verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """One configuration by number of steps."""

    configuration: Figures
    bins: Sequence[Bin]


def lengths_of(figures: ExperimentFigures, scope: Scope) -> list[Lengths]:
    """All configurations, in one query; the bins are the same for all of them."""
    rows = (
        scope.standing(figures.source)
        .filter(standing__in=DECIDED)
        .values_list("agent", "n_steps", "standing")
        .annotate(n=Count("*"))
    )
    counts: defaultdict[int, Counter[tuple[int, str]]] = defaultdict(Counter)
    most = 0
    for agent, steps, standing, n in rows:
        counts[agent][steps, standing] += n
        most = max(most, steps)
    width = next((each for each in WIDTHS if most <= each * MOST_BINS), -(-most // MOST_BINS))
    return [
        Lengths(configuration=each, bins=_bins(each, counts[each.agent.pk], width, most))
        for each in figures.configurations
    ]


def _bins(
    configuration: Figures, counts: Counter[tuple[int, str]], width: int, most: int
) -> list[Bin]:
    won: Counter[int] = Counter()
    all_runs: Counter[int] = Counter()
    for (steps, standing), n in counts.items():
        place = max(steps - 1, 0) // width
        all_runs[place] += n
        won[place] += n if standing == RunResult.SUCCESS else 0
    bins, solved = [], 0
    for place in range(max(most - 1, 0) // width + 1):
        solved += won[place]
        # Runs without any step stand in the first bin.
        first = place * width + 1 if place else min(1, most)
        bins.append(
            Bin(
                first,
                (place + 1) * width,
                Share(won[place], all_runs[place]),
                Share(solved, configuration.decided),
            )
        )
    return bins
