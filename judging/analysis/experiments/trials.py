"""Several trials of a task: pass@k, pass^k, and the best of k by a selector."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from django.db.models import CharField, OuterRef, Subquery
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judging.analysis.counting import tally
from judging.analysis.experiments.facts import LARGEST_K, Facts
from judging.analysis.experiments.figures import Configuration, ExperimentFigures
from judging.analysis.experiments.population import DECIDED, RunResult, Scope
from judging.analysis.experiments.sources import Source, with_said
from judging.analysis.reports.columns import CONFIGURATION, figure
from judging.analysis.reports.report import Column, Report
from judging.analysis.reports.showing import rate
from judging.statistics.figures import Share
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


class TrialFigures(NamedTuple):
    """One configuration for every k that some task has enough trials for."""

    configuration: Configuration
    rows: Sequence[AtK]
    coverage: Share | None
    """Of how many of these runs the selector says anything; None without a selector."""


def trials_of(
    figures: ExperimentFigures, scope: Scope, selector: Source | None
) -> list[TrialFigures]:
    """pass@k and pass^k of every configuration; with a selector one query more."""
    picked = _picked(scope, figures.source, selector) if selector else {}
    return [_trials(each, *picked.get(each.pk, (None, None))) for each in figures.configurations]


def _trials(
    configuration: Configuration, picked: Sequence[Picked] | None, coverage: Share | None
) -> TrialFigures:
    trials = list(configuration.trials.values())
    most = min(max((n for n, _ in trials), default=0), LARGEST_K)
    rows = [
        AtK(
            k,
            mean_pass_at_k(trials, k),
            mean_pass_hat_k(trials, k),
            None if picked is None else mean_best_of_k(picked, k),
        )
        for k in range(1, most + 1)
    ]
    return TrialFigures(configuration, rows, coverage)


def _picked(
    scope: Scope, source: Source, selector: Source
) -> dict[int, tuple[Sequence[Picked], Share]]:
    """By configuration: the trials of each task by what both say; in one query.

    The selector's word is looked up for each run by itself: two of the same relation cannot be
    joined under one name.
    """
    said = with_said(Run.objects.order_by(), selector).filter(pk=OuterRef("pk")).values("said")
    runs = scope.standing(source).filter(standing__in=DECIDED)
    chosen = runs.annotate(chosen=Subquery(said[:1], output_field=CharField(null=True)))
    counts: defaultdict[tuple[int, int], Counter[tuple[str | None, str]]] = defaultdict(Counter)
    for (agent, task, word, standing), alike in tally(
        chosen, "agent", "task", "chosen", "standing"
    ).items():
        counts[agent, task][word, standing] += alike
    found: defaultdict[int, tuple[list[Picked], Counter[str | None]]] = defaultdict(
        lambda: ([], Counter())
    )
    won, lost = RunResult.SUCCESS.value, RunResult.FAILURE.value
    for (agent, _task), n in counts.items():
        tasks, words = found[agent]
        passed = n[won, won] + n[won, lost]
        tasks.append(
            Picked(
                passed=passed,
                passed_successes=n[won, won],
                other=n.total() - passed,
                # A run of which the selector says nothing is none that it passes.
                other_successes=n[lost, won] + n[None, won],
            )
        )
        for (word, _standing), alike in n.items():
            words[word] += alike
    return {
        agent: (tasks, Share(words.total() - words[None], words.total()))
        for agent, (tasks, words) in found.items()
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
        "told": sum(each.count for each in covered),
        "runs": sum(each.total for each in covered),
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
                *(each.configuration.name, row.k, row.pass_at.value, row.pass_hat.value),
                *(row.best.value if row.best else None, row.pass_at.tasks, row.pass_at.left_out),
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
