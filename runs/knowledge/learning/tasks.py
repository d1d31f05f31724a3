"""Learning jobs in the background."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from runs.knowledge.learning.jobs import carry_out
from runs.models import LearningJob
from runs.queue.dispatching import dispatch
from runs.queue.holding import sweep_work
from runs.queue.sweep_tasks import swept

LEARN = "runs.tasks.learn"


@shared_task(name=LEARN)
def learn(job_id: str) -> None:
    """Work on the job unless another worker does: a second delivery finds nothing to claim.

    The worker that is free now asks for others, such as those that waited for the same model.
    """
    if carry_out(UUID(job_id)):
        dispatch_learning()
    else:
        LearningJob.objects.undispatch([UUID(job_id)])


@swept
def sweep_learning() -> None:
    """End jobs that no worker will end."""
    sweep_work(LearningJob)


@swept
def dispatch_learning() -> None:
    """Tell the workers of jobs that wait."""
    dispatch(LearningJob, LEARN)
