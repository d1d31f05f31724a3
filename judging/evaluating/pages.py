"""What the pages of batches show, in a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from judging.models import Evaluation, EvaluationBatch, EvaluationBatchItem
from judging.studies.access import EVALUATE, studies_hidden_from
from runs.models import User
from runs.models.parsing import read_number
from runs.models.visibility import run_policy
from runs.queue.jobs import WorkProgress, cost_in_words, progress_of

PER_PAGE = 30
ERRORS_SHOWN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRow:
    """One batch with what follows from its columns."""

    batch: EvaluationBatch
    progress: WorkProgress
    cost: str
    can_cancel: bool
    can_resume: bool

    @property
    def verdicts(self) -> list[tuple[str, int]]:
        """Verdicts with their counts, those that there are."""
        counts = [(value, getattr(self.batch, f"n_{value}")) for value in Evaluation.Verdict.values]
        return [(value, count) for value, count in counts if count]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchErrors:
    """Runs on which the evaluator came to no verdict: by reason, and the first of them."""

    reasons: list[tuple[str, int]]
    shown: list[Evaluation]
    total: int


def batches_shown_to(user: User) -> QuerySet[EvaluationBatch]:
    """Batches over nothing to which the person is blinded, newest first."""
    batches = EvaluationBatch.objects.select_related("evaluator", "study", "created_by")
    blind = run_policy().blind_runs(user)
    if blind is None:
        return batches
    items = EvaluationBatchItem.objects.filter(batch=OuterRef("pk"))
    hidden = Exists(items.filter(run__in=blind.values("pk")))
    of_hidden_study = Exists(studies_hidden_from(user).filter(pk=OuterRef("study")))
    return batches.exclude(hidden).exclude(of_hidden_study)


def batch_rows(batches: Iterable[EvaluationBatch], user: User) -> list[BatchRow]:
    """The rows for these batches."""
    may_evaluate = user.has_perm(EVALUATE)
    return [_row(batch, may_evaluate) for batch in batches]


def batch_errors(batch: EvaluationBatch) -> BatchErrors:
    """What went wrong on which runs."""
    errors = batch.evaluations.filter(verdict=Evaluation.Verdict.ERROR)
    reasons = errors.values_list("reason").annotate(n=Count("pk")).order_by("-n", "reason")
    shown = errors.select_related("run__task").order_by("created_at", "pk")
    return BatchErrors(reasons=list(reasons), shown=list(shown[:ERRORS_SHOWN]), total=batch.n_error)


def moves(batches: Iterable[EvaluationBatch]) -> bool:
    """Whether any of them may still change by itself."""
    return any(batch.is_active for batch in batches)


def for_study(study_id: str) -> Q:
    """The condition of one study's batches; none for anything that is no number."""
    number = read_number(study_id)
    return Q() if number is None else Q(study=number)


def _row(batch: EvaluationBatch, may_evaluate: bool) -> BatchRow:
    progress = progress_of(batch)
    return BatchRow(
        batch=batch,
        progress=progress,
        cost=cost_in_words(batch) if batch.model else "",
        can_cancel=may_evaluate and batch.is_active and batch.cancel_requested_at is None,
        can_resume=may_evaluate and batch.can_resume and progress.n_left != 0,
    )
