"""Evaluations, and the counters of the batches that made them."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import F, Q

from judging.models import Evaluation, EvaluationBatch, EvaluationBatchItem, EvaluatorVersion
from judging.models.evaluations import SETTLED
from runs.models import LeasedWork
from runs.operations.integrity.contract import Invariant, number_of

Verdict = Evaluation.Verdict
COUNTERS = sum((F(f"n_{verdict}") for verdict in Verdict.values), F("n_already"))


def evaluations() -> Iterator[Invariant]:
    """What holds of an evaluation.

    That one evaluator has one current evaluation of a run at most, the database itself keeps.
    """
    yield _never(~Q(verdict__in=Verdict.values), "{verdict} is no verdict")
    # Other tools may say both.
    ours = ~Q(record__has_key="evaluator")
    without = Q(verdict=Verdict.ERROR)
    # The score of progress tells how far a run got, also where that is not told to its end.
    scored = Q(score__isnull=False) & ~Q(evaluator__kind=EvaluatorVersion.Kind.MILESTONES)
    yield _never(ours & without & scored, "it has no verdict, and a score")
    yield _never(ours & without & Q(reason=""), "it has no verdict, and nothing says why")
    yield _never(ours & Q(verdict__in=SETTLED) & ~Q(reason=""), "{verdict}, and it says why not")


def batch_counters() -> Iterator[Invariant]:
    """What holds of a batch. Its items and evaluations go with their run, its counters stay."""
    batches = EvaluationBatch.objects.all()
    items = EvaluationBatchItem.objects.all()
    done = number_of(items.filter(is_done=True), "batch")
    yield Invariant(
        lambda: batches.exclude(n_done=COUNTERS),
        "n_done is {n_done}, which its counters of verdicts do not add up to",
        ("n_done",),
    )
    yield Invariant(
        lambda: batches.annotate(rows=done).filter(rows__gt=F("n_done")),
        "n_done is {n_done}, and {rows} of its runs are done",
        ("n_done", "rows"),
    )
    yield Invariant(
        lambda: batches.filter(n_total__lt=F("n_done")),
        "n_done is {n_done} of {n_total}",
        ("n_done", "n_total"),
    )
    yield Invariant(
        lambda: batches.filter(
            state=LeasedWork.State.FINISHED, pk__in=items.filter(is_done=False).values("batch")
        ),
        "it has finished before all its runs are done",
    )
    for verdict in Verdict.values:
        counter = f"n_{verdict}"
        found = number_of(Evaluation.objects.filter(verdict=verdict), "batch")
        differs = Q(rows__gt=F(counter)) | ~Q(rows=F(counter)) & Q(done=F("n_done"))
        yield Invariant(
            lambda found=found, differs=differs: (  # type: ignore[misc] # bound defaults have no type
                batches.annotate(rows=found, done=done).filter(differs)
            ),
            f"{counter} is {{{counter}}}, and {{rows}} of its evaluations say so",
            (counter, "rows"),
        )


def _never(condition: Q, why: str) -> Invariant:
    return Invariant(lambda: Evaluation.objects.filter(condition), why, ("verdict",))
