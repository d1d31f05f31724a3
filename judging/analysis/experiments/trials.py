"""Several trials of a task: pass@k, pass^k, and the best of k by a selector."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import CharField, Count, OuterRef, Subquery
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.facts import LARGEST_K, Facts
from judging.analysis.experiments.figures import Configuration, ExperimentFigures
from judging.analysis.experiments.population import DECIDED, RunResult, Scope
from judging.analysis.experiments.sources import SUCCESS, Source, with_said
from judging.analysis.reports.columns import CONFIGURATION, figure
from judging.analysis.reports.report import Column, Report
from judging.analysis.reports.showing import rate
from judging.statistics.success import (
    Picked,
    TaskMean,
    mean_best_of_k,
    mean_pass_at_k,
    mean_pass_hat_k,
)
from runs.models import Run


class AtK(NamedTuple):
    """The figures for one k. `best` is None without a selector."""

    k: int
    pass_at: TaskMean
    pass_hat: TaskMean
    best: TaskMean | None


class Coverage(NamedTuple):
    """Of `runs` with a verdict, on how many the selector has one too."""

    judged: int
    runs: int


class _Choices(NamedTuple):
    tasks: Sequence[Picked]
    coverage: Coverage


class TrialFigures(NamedTuple):
    """One configuration for every k that some task has enough trials for."""

    configuration: Configuration
    rows: Sequence[AtK]
    coverage: Coverage | None
    """Of how many of these runs the selector says anything; None without a selector."""


def trials_of(
    figures: ExperimentFigures, scope: Scope, selector: Source | None
) -> list[TrialFigures]:
    """pass@k and pass^k of every configuration; with a selector one query more."""
    picked = _picked(scope, figures.source, selector) if selector else {}
    return [_trials(each, picked.get(each.agent.pk)) for each in figures.configurations]


def _trials(configuration: Configuration, choices: _Choices | None) -> TrialFigures:
    trials = list(configuration.trials.values())
    most = min(max((n for n, _ in trials), default=0), LARGEST_K)
    rows = [
        AtK(
            k,
            mean_pass_at_k(trials, k),
            mean_pass_hat_k(trials, k),
            mean_best_of_k(choices.tasks, k) if choices else None,
        )
        for k in range(1, most + 1)
    ]
    return TrialFigures(configuration, rows, choices.coverage if choices else None)


def _picked(scope: Scope, source: Source, selector: Source) -> dict[int, _Choices]:
    """Trials by configuration and task, by what both say; in one query.

    The selector's word is looked up for each run by itself: two of the same relation cannot be
    joined under one name.
    """
    said = with_said(Run.objects.order_by(), selector).filter(pk=OuterRef("pk")).values("said")
    rows = (
        scope.standing(source)
        .filter(standing__in=DECIDED)
        .annotate(chosen=Subquery(said[:1], output_field=CharField(null=True)))
        .values_list("agent", "task", "chosen", "standing")
        .annotate(n=Count("*"))
    )
    counts: defaultdict[tuple[int, int], Counter[tuple[str | None, str]]] = defaultdict(Counter)
    for agent, task, word, standing, n in rows:
        counts[agent, task][word, standing] += n
    tasks: defaultdict[int, list[Picked]] = defaultdict(list)
    judged: Counter[int] = Counter()
    runs: Counter[int] = Counter()
    for (agent, _task), n in counts.items():
        won, lost = RunResult.SUCCESS.value, RunResult.FAILURE.value
        # A run of which the selector says nothing is none that it passes.
        others = {word for word, _standing in n} - {SUCCESS}
        tasks[agent].append(
            Picked(
                passed=n[SUCCESS, won] + n[SUCCESS, lost],
                passed_successes=n[SUCCESS, won],
                other=sum(n[word, standing] for word in others for standing in (won, lost)),
                other_successes=sum(n[word, won] for word in others),
            )
        )
        runs[agent] += n.total()
        judged[agent] += n.total() - n[None, won] - n[None, lost]
    return {
        agent: _Choices(found, Coverage(judged[agent], runs[agent]))
        for agent, found in tasks.items()
    }


def selector_words(selector: Source | None, found: Sequence[TrialFigures]) -> str:
    """Who picks the best of k trials, how, and of how many runs it says nothing."""
    if selector is None:
        return gettext("Best of k takes somebody who picks: none is chosen.")
    covered = [each.coverage for each in found if each.coverage is not None]
    return gettext(
        "Best of k picks a trial that %(selector)s passes, at random among several or, "
        "if it passes none, among all k. It has a verdict on %(told)s of %(runs)s runs."
    ) % {
        "selector": selector.name,
        "told": sum(each.judged for each in covered),
        "runs": sum(each.runs for each in covered),
    }


def trials(facts: Facts) -> Report:
    """One row a configuration and k."""
    selector = facts.query.selector
    found = trials_of(facts.figures, facts.scope, selector)
    best = _("best of k") if selector else ""
    return Report(
        columns=[
            CONFIGURATION,
            Column("k", "k"),
            figure("pass_at_k", "pass@k", show=rate),
            figure("pass_hat_k", "pass^k", show=rate),
            figure("best_of_k", best, show=rate),
            Column("tasks", _("tasks with k trials or more")),
            Column("left_out", _("tasks with fewer")),
        ],
        rows=[
            [
                each.configuration.name,
                row.k,
                row.pass_at.value,
                row.pass_hat.value,
                row.best.value if row.best else None,
                row.pass_at.tasks,
                row.pass_at.left_out,
            ]
            for each in found
            for row in each.rows
        ],
        notes=[selector_words(selector, found)],
        remarks=[
            _(
                "pass@k = 1 − C(n − c, k)/C(n, k), pass^k = C(c, k)/C(n, k) for c successes in n "
                "trials of a task, averaged over the tasks with k trials or more. With a picker "
                "who knows the truth the best of k is pass@k."
            )
        ],
    )
