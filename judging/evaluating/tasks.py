"""Evaluations in the background: ids in, rows out."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from judging.evaluating.batches import carry_out
from judging.evaluating.evaluating import evaluate_runs, runs_without
from judging.evaluating.overlooked import evaluate_overlooked as look_for_overlooked
from judging.evaluating.overlooked import is_due as overlooked_are_due
from judging.evaluators.registry import evaluator_of
from judging.models import EvaluationBatch, EvaluatorVersion
from runs.models import Run, RunStatus
from runs.queue.leases import sweep_work
from runs.queue.messages import ask_for, dispatch
from runs.queue.sweeping import swept

EVALUATE_OVERLOOKED = "judging.tasks.evaluate_overlooked"
EVALUATE_BATCH = "judging.tasks.evaluate_batch"
AT_ONE_GO_S = 20
"""Other work of the queue waits no longer than this."""


@shared_task(name="judging.tasks.evaluate_run", time_limit=660)
def evaluate_run(run_id: str, evaluator_id: int) -> None:
    """Evaluate one run, unless it has been already."""
    version = EvaluatorVersion.objects.get(pk=evaluator_id)
    run = runs_without(version, Run.objects.filter(pk=UUID(run_id))).select_related("task")
    evaluate_runs(run, evaluator_of(version), version)


@shared_task(name="judging.tasks.evaluate_task", time_limit=3060)
def evaluate_task(task_id: int, evaluator_id: int) -> None:
    """Evaluate all ended runs of a task that the evaluator has not spoken of yet."""
    version = EvaluatorVersion.objects.get(pk=evaluator_id)
    ended = Run.objects.filter(task=task_id, status__in=RunStatus.ended(), n_steps__gt=0)
    evaluator = evaluator_of(version)
    for run_id in list(runs_without(version, ended).values_list("pk", flat=True)):
        one = runs_without(version, Run.objects.filter(pk=run_id)).select_related("task")
        evaluate_runs(one, evaluator, version)


@shared_task(name=EVALUATE_OVERLOOKED, time_limit=660)
def evaluate_overlooked() -> None:
    """Evaluate ended runs whose message was lost; the sweep asks again till all were looked at."""
    look_for_overlooked(limit_s=AT_ONE_GO_S)


@swept
def ask_for_overlooked() -> None:
    """Evaluate ended runs that no worker was notified of."""
    if overlooked_are_due():
        ask_for(EVALUATE_OVERLOOKED)


@shared_task(name=EVALUATE_BATCH)
def evaluate_batch(batch_id: str) -> None:
    """Work on the batch unless another worker does: a second delivery finds nothing to claim.

    The worker that is free now asks for others, such as those that waited for the same model.
    """
    if carry_out(UUID(batch_id)):
        dispatch_batches()
    else:
        EvaluationBatch.objects.undispatch([UUID(batch_id)])


@swept
def sweep_batches() -> None:
    """End batches that no worker will end."""
    sweep_work(EvaluationBatch)


@swept
def dispatch_batches() -> None:
    """Tell the workers of batches that wait."""
    dispatch(EvaluationBatch, EVALUATE_BATCH)
