"""How often runs succeed that nobody has judged: an imperfect evaluator's pass rate, corrected."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.db.models import Count

from judging.analysis.audits.matrices import PASSED_BY_VERDICT, Audit, EvaluatorAudit
from judging.analysis.audits.population import INFEASIBLE
from judging.models import Evaluation, StudyItem
from judging.statistics.figures import Figure, Interval, Reason, Undefined
from judging.statistics.proportions import Share, rogan_gladen_interval, rogan_gladen_of


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


def corrected_rates(audit: Audit) -> list[Corrected]:
    """For each evaluator that says something of runs without a reference verdict, in one query.

    Its rates are measured on the runs that have one, so that the two are independent.
    """
    unsettled = StudyItem.objects.filter(study=audit.study, verdict__isnull=True).exclude(
        INFEASIBLE
    )
    rows = (
        Evaluation.objects.filter(
            run__in=unsettled.order_by().values("run"),
            is_current=True,
            verdict__in=list(PASSED_BY_VERDICT),
        )
        .values_list("evaluator", "verdict")
        .annotate(n=Count("*"))
        .order_by()
    )
    counts: Counter[tuple[int, bool | None]] = Counter()
    for evaluator, verdict, n in rows:
        counts[evaluator, PASSED_BY_VERDICT[verdict]] += n
    found = []
    for each in audit.speaking:
        passed, failed = (counts[each.evaluator.pk, verdict] for verdict in (True, False))
        if passed + failed:
            share = Share(passed, passed + failed, Reason.NO_VERDICTS)
            found.append(Corrected(audit=each, passed=share))
    return found
