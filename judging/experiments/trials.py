"""Several trials of a task: pass@k, pass^k, and the best of k by a selector."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Case, CharField, Count, Exists, OuterRef, Value, When
from django.utils.translation import gettext as _

from judging.experiments.figures import ExperimentFigures, Figures
from judging.experiments.population import DECIDED, Scope, Standing
from judging.experiments.sources import SUCCESS, Source, with_said
from judging.statistics.success import (
    Picked,
    TaskMean,
    mean_best_of_k,
    mean_pass_at_k,
    mean_pass_hat_k,
)
from runs.models import Run

LARGEST_K = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class AtK:
    """The figures for one k. `best` is None without a selector."""

    k: int
    pass_at: TaskMean
    pass_hat: TaskMean
    best: TaskMean | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialFigures:
    """One configuration for every k that some task has enough trials for."""

    configuration: Figures
    rows: Sequence[AtK]
    trials: Sequence[tuple[int, int]]
    """How many tasks have so many trials with a verdict: (trials, tasks), fewest first."""


def trials_of(
    figures: ExperimentFigures, scope: Scope, selector: Source | None
) -> list[TrialFigures]:
    """pass@k and pass^k of every configuration; with a selector one query more."""
    picked = _picked(scope, figures.source, selector) if selector else {}
    return [_trials(each, picked.get(each.agent.pk)) for each in figures.configurations]


def _trials(configuration: Figures, picked: Sequence[Picked] | None) -> TrialFigures:
    trials = list(configuration.trials.values())
    most = min(max((n for n, _ in trials), default=0), LARGEST_K)
    rows = [
        AtK(
            k=k,
            pass_at=mean_pass_at_k(trials, k),
            pass_hat=mean_pass_hat_k(trials, k),
            best=mean_best_of_k(picked, k) if picked is not None else None,
        )
        for k in range(1, most + 1)
    ]
    sizes = Counter(n for n, _ in trials)
    return TrialFigures(configuration=configuration, rows=rows, trials=sorted(sizes.items()))


def _picked(scope: Scope, source: Source, selector: Source) -> dict[int, list[Picked]]:
    """Trials by configuration and task, by what both say; in one query.

    The selector's word is looked up for each run by itself: two of the same relation cannot be
    joined under one name.
    """
    said = with_said(Run.objects.order_by(), selector)
    passed = said.filter(pk=OuterRef("pk"), said=SUCCESS)
    chosen = Case(
        When(Exists(passed), then=Value("passed")),
        default=Value("other"),
        output_field=CharField(),
    )
    rows = (
        scope.standing(source)
        .filter(standing__in=DECIDED)
        .annotate(chosen=chosen)
        .values_list("agent", "task", "chosen", "standing")
        .annotate(n=Count("*"))
    )
    counts: defaultdict[tuple[int, int], Counter[tuple[str, str]]] = defaultdict(Counter)
    for agent, task, word, standing, n in rows:
        counts[agent, task][word, standing] += n
    found: defaultdict[int, list[Picked]] = defaultdict(list)
    for (agent, _task), n in counts.items():
        won, lost = Standing.SUCCESS.value, Standing.FAILURE.value
        found[agent].append(
            Picked(
                passed=n["passed", won] + n["passed", lost],
                passed_successes=n["passed", won],
                other=n["other", won] + n["other", lost],
                other_successes=n["other", won],
            )
        )
    return dict(found)


def selector_words(selector: Source | None) -> str:
    """Who picks the best of k trials, in words."""
    if selector is None:
        return _("Best of k takes somebody who picks: none is chosen.")
    return _("Best of k picks a trial that passes by %(selector)s, at random where several do.") % {
        "selector": selector.name
    }
