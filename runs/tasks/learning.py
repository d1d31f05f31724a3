"""Learning jobs in the background."""

from __future__ import annotations

import logging
from uuid import UUID

from celery import current_app, shared_task
from django.conf import settings
from kombu.exceptions import OperationalError

from runs.execution.learning import carry_out, sweep_learning
from runs.models import LearningJob
from runs.tasks.sweeping import swept

logger = logging.getLogger(__name__)

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


def dispatch_learning() -> None:
    """Tell the workers of jobs that wait and whose message is missing or lost."""
    told = LearningJob.objects.take_undispatched(older_than_s=settings.ENV.LEASE_S)
    for number, job_id in enumerate(told):
        try:
            current_app.send_task(LEARN, (str(job_id),), retry=False, queue="judge")
        except OperationalError:
            logger.warning("The broker cannot be reached; learning waits for the next sweep.")
            LearningJob.objects.undispatch(told[number:])
            return


swept(sweep_learning)
swept(dispatch_learning)
