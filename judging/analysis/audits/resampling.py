"""Intervals of an audit's figures with whole tasks resampled: fetched after the page."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count

from judging.analysis.audits.matrices import PASSED_BY_VERDICT, Audit, EvaluatorAudit, matrix_of
from judging.analysis.audits.population import SUCCESS, counted_items, references_by_task
from judging.models import Study
from judging.statistics.confusion import (
    BOOTSTRAPPED,
    Cell,
    ConfusionMatrix,
    cell,
    evaluator_intervals,
)
from judging.statistics.figures import Interval, Undefined

NO_SHARES = ("f1", "kappa")
"""Figures without an interval of Wilson's."""
Tasks = Mapping[ConfusionMatrix, int]
"""How many tasks have such counts of runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampled:
    """Bootstrap intervals by evaluator and figure: of shares only where runs share tasks."""

    shares_tasks: bool
    """Whether some task has several runs, so that runs are not independent."""
    intervals: Mapping[int, Mapping[str, Interval | Undefined]]


def resampled(audit: Audit) -> Resampled:
    """The intervals of all evaluators that speak, in at most three queries."""
    tasks = counted_items(audit.study).aggregate(n=Count("run__task", distinct=True))["n"]
    shares_tasks = tasks < audit.population.runs
    by_evaluator = _by_task(audit) if shares_tasks else {}
    intervals = {
        each.evaluator.pk: evaluator_intervals(
            by_evaluator[each.evaluator.pk] if shares_tasks else single_trials(each),
            BOOTSTRAPPED if shares_tasks else NO_SHARES,
            seed=audit.study.pk,
        )
        for each in audit.speaking
    }
    return Resampled(shares_tasks=shares_tasks, intervals=intervals)


def single_trials(audit: EvaluatorAudit) -> Tasks:
    """Tasks of one run each: as many of a kind as there are runs in a cell."""
    return {
        ConfusionMatrix.counted({each: 1}): n
        for each in Cell
        if (n := getattr(audit.matrix, each.value))
    }


def _by_task(audit: Audit) -> Mapping[int, Tasks]:
    counts: defaultdict[int, defaultdict[int, Counter[Cell]]] = defaultdict(
        lambda: defaultdict(Counter)
    )
    for evaluator, verdict, reference, task, n in _rows(audit.study):
        passed = PASSED_BY_VERDICT.get(verdict)
        counts[evaluator][task][cell(reference == SUCCESS, passed)] += n
    references = references_by_task(audit.study)
    return {
        evaluator: Counter(matrix_of(tasks[task], found) for task, found in references.items())
        for evaluator, tasks in counts.items()
    }


def _rows(study: Study) -> list[tuple[int, str, str, int, int]]:
    return list(
        counted_items(study)
        .filter(run__evaluations__is_current=True)
        .values_list(
            "run__evaluations__evaluator",
            "run__evaluations__verdict",
            "verdict__verdict",
            "run__task",
        )
        .annotate(n=Count("*"))
        .order_by()
    )
