"""Why evaluators were wrong: tagged errors summed, and what success rate a repair would give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import F, Q

from judging.analysis.audits.cells import Shown
from judging.analysis.audits.matrices import Audit, EvaluatorAudit, audit_of
from judging.analysis.audits.population import FAILURE, SUCCESS
from judging.models import Cause, CauseTag, Evaluation, Repair, Study
from judging.statistics.confusion import ConfusionMatrix
from judging.statistics.figures import Reason, Share
from runs.models import Task

REPAIRABLE = (Repair.TASK_DATA, Repair.EVALUATION_LOGIC)
_FN = Q(
    error=CauseTag.Error.FN,
    item__verdict__verdict=SUCCESS,
    item__run__evaluations__verdict=Evaluation.Verdict.FAILED,
)
_FP = Q(
    error=CauseTag.Error.FP,
    item__verdict__verdict=FAILURE,
    item__run__evaluations__verdict=Evaluation.Verdict.PASSED,
)

TagRow = tuple[int, str, Sequence[str], str]
"""Evaluator, error, causes, repair."""


@dataclass(frozen=True, slots=True)
class Counted:
    """How many errors of each kind."""

    fn: int = 0
    fp: int = 0

    @property
    def total(self) -> int:
        return self.fn + self.fp


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Success rates over the runs that have a verdict of the evaluator."""

    now: Share
    """By the evaluator as it is."""
    task_data: Share
    """If the FNs whose repair belongs to the task data passed."""
    evaluation_logic: Share
    fn_repaired: Share
    """If every FN tagged as repairable passed."""
    all_repaired: Share
    """If the FPs tagged as repairable did not pass either."""
    reference: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseAudit:
    """The errors of one evaluator by cause and by where the repair belongs."""

    audit: EvaluatorAudit
    by_cause: Mapping[Cause, Counted]
    """Causes that occur, in their order. An error counts under each of its causes."""
    by_repair: Mapping[Repair, Counted]
    """All places, in their order; every tagged error counts once."""
    untagged: Counted
    rates: Rates

    @property
    def errors(self) -> Counted:
        return Counted(self.audit.matrix.fn, self.audit.matrix.fp)

    @property
    def repairable(self) -> Counted:
        """Errors whose repair belongs to the task data or to the evaluation logic."""
        return Counted(
            sum(self.by_repair[each].fn for each in REPAIRABLE),
            sum(self.by_repair[each].fp for each in REPAIRABLE),
        )


@dataclass(slots=True)
class _Sums:
    causes: Counter[tuple[str, str]] = field(default_factory=Counter)
    repairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    tagged: Counter[str] = field(default_factory=Counter)

    def add(self, error: str, causes: Iterable[str], repair: str) -> None:
        self.tagged[error] += 1
        self.repairs[repair, error] += 1
        for cause in causes:
            self.causes[cause, error] += 1


def causes_of(study: Study, audit: Audit | None = None) -> list[CauseAudit]:
    """The causes of every evaluator that has a verdict, in one query more than the audit."""
    audit = audit or audit_of(study)
    sums: dict[int, _Sums] = {}
    for evaluator, error, causes, repair in _tags(study):
        sums.setdefault(evaluator, _Sums()).add(error, causes, repair)
    return [_cause_audit(each, sums.get(each.evaluator.pk, _Sums())) for each in audit.speaking]


def _tags(study: Study) -> Iterable[TagRow]:
    """Current tags, once for every version of their evaluator that errs there now."""
    tags = CauseTag.objects.filter(
        _FN | _FP,
        item__study=study,
        is_current=True,
        item__run__evaluations__is_current=True,
        item__run__evaluations__evaluator__name=F("evaluator_name"),
    ).exclude(Q(repair="") | Task.objects.is_infeasible("item__run__task"))
    return tags.order_by().values_list(
        "item__run__evaluations__evaluator", "error", "causes", "repair"
    )


def _cause_audit(audit: EvaluatorAudit, sums: _Sums) -> CauseAudit:
    def counted(counts: Counter[tuple[str, str]], key: str) -> Counted:
        return Counted(counts[key, Shown.FN], counts[key, Shown.FP])

    by_cause = {cause: counted(sums.causes, cause) for cause in Cause}
    by_repair = {repair: counted(sums.repairs, repair) for repair in Repair}
    matrix = audit.matrix
    return CauseAudit(
        audit=audit,
        by_cause={cause: n for cause, n in by_cause.items() if n.total},
        by_repair=by_repair,
        untagged=Counted(matrix.fn - sums.tagged[Shown.FN], matrix.fp - sums.tagged[Shown.FP]),
        rates=_rates(matrix, by_repair),
    )


def _rates(matrix: ConfusionMatrix, by_repair: Mapping[Repair, Counted]) -> Rates:
    decided, passed = matrix.decided, matrix.tp + matrix.fp
    data, logic = (by_repair[each] for each in REPAIRABLE)

    def share(count: int) -> Share:
        return Share(count, decided, Reason.NO_VERDICTS)

    return Rates(
        now=share(passed),
        task_data=share(passed + data.fn),
        evaluation_logic=share(passed + logic.fn),
        fn_repaired=share(passed + data.fn + logic.fn),
        all_repaired=share(passed + data.fn + logic.fn - data.fp - logic.fp),
        reference=share(matrix.tp + matrix.fn),
    )
