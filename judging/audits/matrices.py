"""Every evaluator of a study against the reference verdicts, from one aggregate."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from django.db.models import Count
from django.utils.translation import gettext_noop

from judging.audits.population import SUCCESS, Population, counted_items, population_of
from judging.models import Evaluation, EvaluatorVersion, Study
from judging.statistics.confusion import Cell, ConfusionMatrix, cell
from judging.statistics.evaluator_intervals import BOOTSTRAPPED, evaluator_intervals
from judging.statistics.figures import Interval, Undefined

NOT_EVALUATED = gettext_noop("not evaluated yet")
NO_REASON = gettext_noop("no reason given")
NO_SHARES = ("f1", "kappa")
"""Figures without an interval of Wilson's."""
_PASSED = {Evaluation.Verdict.PASSED.value: True, Evaluation.Verdict.FAILED.value: False}

Row = tuple[int, str, str, str, int, int]
"""Evaluator, its verdict, its reason, reference verdict, task, number of runs."""


@dataclass(frozen=True)
class EvaluatorAudit:
    """One evaluator's cells over the shared population, whole and by task."""

    evaluator: EvaluatorVersion
    matrix: ConfusionMatrix
    reasons: Sequence[tuple[str, int]]
    """Why there is no verdict, and for how many runs; the most frequent first."""
    by_task: Sequence[ConfusionMatrix]
    seed: int

    shares_tasks: bool

    @cached_property
    def intervals_by_task(self) -> Mapping[str, Interval | Undefined]:
        """Bootstrap intervals, whole tasks resampled: of shares only where runs share tasks."""
        figures = BOOTSTRAPPED if self.shares_tasks else NO_SHARES
        return evaluator_intervals(self.by_task, figures, seed=self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What the audit page of a study shows of its evaluators."""

    study: Study
    population: Population
    evaluators: Sequence[EvaluatorAudit]

    @property
    def speaking(self) -> Sequence[EvaluatorAudit]:
        """Evaluators with a verdict on at least one run."""
        return [each for each in self.evaluators if each.matrix.decided]

    @property
    def silent(self) -> Sequence[EvaluatorAudit]:
        """Evaluators that have nothing to say of any run here: of them there are no figures."""
        return [each for each in self.evaluators if not each.matrix.decided]


def audit_of(study: Study) -> Audit:
    """The audit of a study in three queries, however many runs it has."""
    population = population_of(study)
    rows = (
        counted_items(study)
        .filter(run__evaluations__is_current=True)
        .values_list(
            "run__evaluations__evaluator",
            "run__evaluations__verdict",
            "run__evaluations__reason",
            "verdict__verdict",
            "run__task",
        )
        .annotate(n=Count("pk"))
        .order_by()
    )
    by_evaluator = _by_evaluator(rows)
    versions = EvaluatorVersion.objects.filter(pk__in=by_evaluator)
    audits = [_audit(version, by_evaluator[version.pk], population, study) for version in versions]
    return Audit(study=study, population=population, evaluators=audits)


def _by_evaluator(rows: Iterable[Row]) -> Mapping[int, list[Row]]:
    found = defaultdict(list)
    for row in rows:
        found[row[0]].append(row)
    return found


def _audit(
    version: EvaluatorVersion, rows: Sequence[Row], population: Population, study: Study
) -> EvaluatorAudit:
    counts: defaultdict[int, Counter[Cell]] = defaultdict(Counter)
    reasons: Counter[str] = Counter()
    for _, verdict, reason, reference, task, n in rows:
        passed = _PASSED.get(verdict)
        counts[task][cell(reference == SUCCESS, passed)] += n
        if passed is None:
            reasons[reason or NO_REASON] += n
    by_task = {task: _matrix(counts[task]) for task in population.by_task}
    missing = population.runs - sum(matrix.runs for matrix in by_task.values())
    if missing:
        reasons[NOT_EVALUATED] += missing
    completed = [
        _with_missing(matrix, population, task) if missing else matrix
        for task, matrix in by_task.items()
    ]
    whole = _sum(completed)
    return EvaluatorAudit(
        evaluator=version,
        matrix=whole,
        reasons=reasons.most_common(),
        by_task=completed,
        seed=study.pk,
        shares_tasks=population.shares_tasks,
    )


def _matrix(counts: Mapping[Cell, int]) -> ConfusionMatrix:
    return ConfusionMatrix(**{each.value: counts.get(each, 0) for each in Cell})


def _with_missing(matrix: ConfusionMatrix, population: Population, task: int) -> ConfusionMatrix:
    """The task's matrix with runs that have no evaluation at all in its fifth cell."""
    references = population.by_task[task]
    successes = references.successes - matrix.tp - matrix.fn
    failures = references.failures - matrix.tn - matrix.fp
    return replace(matrix, no_verdict_on_success=successes, no_verdict_on_failure=failures)


def _sum(matrices: Iterable[ConfusionMatrix]) -> ConfusionMatrix:
    counts: Counter[Cell] = Counter()
    for matrix in matrices:
        for each in Cell:
            counts[each] += getattr(matrix, each.value)
    return _matrix(counts)
