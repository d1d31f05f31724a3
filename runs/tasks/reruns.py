"""Runs in the background."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task
from django.conf import settings

from runs.execution.heartbeat import GRACE_S
from runs.execution.running import execute
from runs.execution.sweeping import sweep_runs
from runs.tasks.dispatching import EXECUTE_RUN, dispatch_due
from runs.tasks.sweeping import swept

LAST_RESORT_S = settings.ENV.RUN_TIME_LIMIT_S + 2 * GRACE_S


@shared_task(name=EXECUTE_RUN, time_limit=LAST_RESORT_S)
def execute_run(run_id: str) -> None:
    """Carry out the run at most once: a second delivery finds nothing to claim.

    The worker that is free now asks for the next one, in case its message was lost.
    """
    if execute(UUID(run_id)):
        dispatch_due(limit=1)


swept(sweep_runs)
swept(dispatch_due)
