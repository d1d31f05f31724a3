"""Every evaluator of a study against the reference verdicts, from aggregates over its runs.

Intervals that resample whole tasks take longer than all counts: pages fetch them afterwards.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

from django.db.models import Case, Count, F, Q, Value, When
from django.urls import reverse
from django.utils.translation import gettext_noop

from judging.analysis.audits.population import (
    FAILURE,
    INFEASIBLE,
    SUCCESS,
    Population,
    References,
    Shown,
    counted_items,
    infeasible_items,
    items_of,
    references_by_task,
)
from judging.analysis.audits.query import AuditQuery
from judging.analysis.audits.verdict_sources import in_order, of_success
from judging.analysis.counting import tally
from judging.models import Evaluation, EvaluatorVersion, Study
from judging.statistics.confusion import (
    BOOTSTRAPPED,
    Cell,
    ConfusionMatrix,
    cell,
    evaluator_intervals,
)
from judging.statistics.figures import (
    Figure,
    Interval,
    Reason,
    Share,
    Undefined,
    rogan_gladen_interval,
    rogan_gladen_of,
)

LEAST_COVERAGE = 0.8
"""Share of the runs that an evaluator must have a verdict on to be ranked with the others: an
evaluator with verdicts on easy runs alone has the best figures.
"""
NOT_EVALUATED = gettext_noop("not evaluated yet")
NO_REASON = gettext_noop("no reason given")
PASSED_BY_VERDICT: Mapping[str, bool | None] = {
    Evaluation.Verdict.PASSED.value: True,
    Evaluation.Verdict.FAILED.value: False,
}


def cell_under(reference: str, verdict: str | None) -> Cell:
    """The cell of a run by its reference verdict, success or failure, and by an evaluator's."""
    return cell(reference == SUCCESS, PASSED_BY_VERDICT.get(verdict or ""))


_WHY_NO_VERDICT = Case(When(verdict__in=PASSED_BY_VERDICT, then=Value("")), default=F("reason"))
"""Filtered by both, PostgreSQL takes reasons and missing verdicts for independent of each other,
so expects few rows and looks each of them up.
"""
ANY_CELLS = "cells-asked-for"
"""Placeholder for cells in the template of an evaluator's addresses."""


@dataclass(frozen=True, kw_only=True)
class EvaluatorAudit:
    """One evaluator's cells over the shared population."""

    study: Study
    evaluator: EvaluatorVersion
    matrix: ConfusionMatrix
    reasons: Sequence[tuple[str, int]]
    """Why there is no verdict, and for how many runs; the most frequent first."""
    query: AuditQuery

    def url(self, *cells: str) -> str:
        return self._any_cells.replace(ANY_CELLS, "-".join(cells))

    @cached_property
    def _any_cells(self) -> str:
        place = [self.study.pk, self.evaluator.pk, ANY_CELLS]
        query = f"?{urlencode({'split': self.query.split})}" if self.query.split else ""
        return reverse("judging:audit_cells", args=place) + query

    @property
    def errors_url(self) -> str:
        return self.url(Shown.FN, Shown.FP)

    @property
    def missed_url(self) -> str:
        return self.url(Shown.FN)

    @property
    def passed_url(self) -> str:
        return self.url(Shown.FP)

    @property
    def no_verdict_url(self) -> str:
        return self.url(Shown.NONE)

    @property
    def scored(self) -> ConfusionMatrix:
        return self.matrix.with_silence_as_error() if self.query.counts_silence else self.matrix

    @property
    def has_little_coverage(self) -> bool:
        """Whether it has verdicts on so few runs that its figures are set apart."""
        coverage = self.matrix.coverage.value
        return not isinstance(coverage, Undefined) and coverage < LEAST_COVERAGE

    @property
    def success(self) -> list[tuple[Shown, Share]]:
        """The cells of runs that are successes by the reference, as shares of all runs."""
        return self._shares(Shown.TP, Shown.FN)

    @property
    def failure(self) -> list[tuple[Shown, Share]]:
        return self._shares(Shown.FP, Shown.TN)

    def _shares(self, *cells: Shown) -> list[tuple[Shown, Share]]:
        return [(each, Share(getattr(self.matrix, each), self.matrix.runs)) for each in cells]


class Audit:
    """The evaluators of a study against its reference verdicts, counted as a query says.

    The matrices take six queries, however many runs there are. Everything is read once.
    """

    def __init__(self, study: Study, query: AuditQuery | None = None) -> None:
        self.study = study
        self.query = query or AuditQuery()

    @cached_property
    def _infeasible(self) -> Q:
        return infeasible_items()

    @cached_property
    def population(self) -> Population:
        return Population(self.study, self.query.split, self._infeasible)

    @cached_property
    def evaluators(self) -> Sequence[EvaluatorAudit]:
        """Those with little coverage after the others."""
        references = self.population.references
        counted = counted_items(self.study, self.query.split, self._infeasible)
        cells: defaultdict[int, Counter[Cell]] = defaultdict(Counter)
        for reference in (SUCCESS, FAILURE):
            runs = counted.filter(verdict__verdict=reference).order_by().values("run")
            # Runs are passed as a list, not joined: the database answers from one index alone.
            said = Evaluation.objects.filter(run__in=runs, is_current=True)
            for (evaluator, verdict), n in tally(said, "evaluator", "verdict").items():
                cells[evaluator][cell_under(reference, verdict)] += n
        reasons: defaultdict[int, Counter[str]] = defaultdict(Counter)
        if any(not each.has_verdict for found in cells.values() for each in found):
            runs = counted.order_by().values("run")
            said = Evaluation.objects.filter(run__in=runs, is_current=True, reason__gt="")
            silent = said.annotate(told=_WHY_NO_VERDICT)
            for (evaluator, reason), n in tally(silent, "evaluator", "told").items():
                if reason:
                    reasons[evaluator][reason] += n
        audits = []
        for version in in_order(of_success().filter(pk__in=cells)):
            matrix = matrix_of(cells[version.pk], references)
            missing = matrix.runs - cells[version.pk].total()
            told = reasons[version.pk]
            untold = matrix.no_verdict - missing - told.total()
            because = Counter({NO_REASON: untold}) + told + Counter({NOT_EVALUATED: missing})
            audits.append(
                EvaluatorAudit(
                    study=self.study,
                    evaluator=version,
                    matrix=matrix,
                    reasons=because.most_common(),
                    query=self.query,
                )
            )
        return sorted(audits, key=lambda each: each.has_little_coverage)

    @property
    def speaking(self) -> Sequence[EvaluatorAudit]:
        """Evaluators with a verdict on at least one run."""
        return [each for each in self.evaluators if each.matrix.decided]

    @property
    def by_errors(self) -> Sequence[EvaluatorAudit]:
        """The same, those that are wrong most often first; with little coverage, last."""
        return sorted(
            self.speaking, key=lambda each: (each.has_little_coverage, -each.matrix.wrong)
        )

    @property
    def set_apart(self) -> Sequence[EvaluatorAudit]:
        """Evaluators with verdicts, but on too few runs to be ranked with the others."""
        return [each for each in self.speaking if each.has_little_coverage]

    @property
    def silent(self) -> Sequence[EvaluatorAudit]:
        """Evaluators without a verdict on any of these runs; they have no figures."""
        return [each for each in self.evaluators if not each.matrix.decided]

    @cached_property
    def corrected(self) -> list[Corrected]:
        """For each evaluator that says something of runs without a reference verdict, in one query.

        Its rates are measured on the runs that have one, so that the two are independent.
        """
        items = items_of(self.study, self.query.split)
        unsettled = items.filter(verdict__isnull=True).exclude(INFEASIBLE)
        said = Evaluation.objects.filter(
            run__in=unsettled.order_by().values("run"),
            is_current=True,
            verdict__in=list(PASSED_BY_VERDICT),
        )
        counts = tally(said, "evaluator", "verdict")
        found = []
        for each in self.speaking:
            passed, failed = (counts[each.evaluator.pk, verdict] for verdict in PASSED_BY_VERDICT)
            if passed + failed:
                share = Share(passed, passed + failed, Reason.NO_VERDICTS)
                found.append(Corrected(audit=each, passed=share))
        return found

    @cached_property
    def shares_tasks(self) -> bool:
        """Whether some task has several runs, so that runs are not independent."""
        counted = counted_items(self.study, self.query.split)
        tasks: int = counted.aggregate(n=Count("run__task", distinct=True))["n"]
        return tasks < self.population.runs

    @cached_property
    def intervals(self) -> Mapping[int, Intervals]:
        """Bootstrap intervals by evaluator, in at most three queries: of shares only where runs
        share tasks.
        """
        by_evaluator = self._by_task() if self.shares_tasks else {}
        return {
            each.evaluator.pk: evaluator_intervals(
                _scored(
                    each,
                    by_evaluator[each.evaluator.pk] if self.shares_tasks else single_trials(each),
                ),
                BOOTSTRAPPED if self.shares_tasks else NO_SHARES,
                seed=self.study.sample_seed,
            )
            for each in (self.evaluators if self.query.counts_silence else self.speaking)
        }

    def _by_task(self) -> Mapping[int, Tasks]:
        counts: defaultdict[int, defaultdict[int, Counter[Cell]]] = defaultdict(
            lambda: defaultdict(Counter)
        )
        counted = counted_items(self.study, self.query.split)
        said = counted.filter(run__evaluations__is_current=True)
        of = "run__evaluations"
        columns = (f"{of}__evaluator", f"{of}__verdict", "verdict__verdict", "run__task")
        for (evaluator, verdict, reference, task), n in tally(said, *columns).items():
            counts[evaluator][task][cell_under(reference, verdict)] += n
        references = references_by_task(self.study, self.query.split)
        return {
            evaluator: Counter(matrix_of(tasks[task], found) for task, found in references.items())
            for evaluator, tasks in counts.items()
        }


def matrix_of(cells: Counter[Cell], references: References) -> ConfusionMatrix:
    """The matrix over runs of these references; those without any evaluation have no verdict."""
    silent = {
        Cell.NO_VERDICT_ON_SUCCESS: references.successes - cells[Cell.TP] - cells[Cell.FN],
        Cell.NO_VERDICT_ON_FAILURE: references.failures - cells[Cell.TN] - cells[Cell.FP],
    }
    return ConfusionMatrix.counted({**cells, **silent})


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """What an evaluator passes of the runs without a reference verdict, and what is behind it."""

    audit: EvaluatorAudit
    passed: Share

    @property
    def value(self) -> Figure:
        """The success rate behind the pass rate, by Rogan and Gladen."""
        matrix = self.audit.matrix
        return rogan_gladen_of(self.passed, matrix.recall, matrix.specificity)

    @property
    def interval(self) -> Interval | Undefined:
        matrix = self.audit.matrix
        return rogan_gladen_interval(self.passed, matrix.recall, matrix.specificity)


NO_SHARES = ("f1", "kappa")
"""Figures without an interval of Wilson's."""
Tasks = Mapping[ConfusionMatrix, int]
"""How many tasks have such counts of runs."""
Intervals = Mapping[str, Interval | Undefined]


def single_trials(audit: EvaluatorAudit) -> Tasks:
    """Tasks of one run each: as many of a kind as there are runs in a cell."""
    return {
        ConfusionMatrix.counted({each: 1}): n
        for each in Cell
        if (n := getattr(audit.matrix, each.value))
    }


def _scored(audit: EvaluatorAudit, tasks: Tasks) -> Tasks:
    if not audit.query.counts_silence:
        return tasks
    found: Counter[ConfusionMatrix] = Counter()
    for matrix, n in tasks.items():
        found[matrix.with_silence_as_error()] += n
    return found
