"""Runs in the background."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings

from runs.launching.carrying_out.running import execute_next
from runs.queue.messages import EXECUTE_NEXT, wake_workers
from runs.queue.steps import GRACE_S
from runs.queue.sweeping import sweep_runs, swept
from runs.queue.workers import prepare_next_run

LAST_RESORT_S = settings.ENV.RUN_TIME_LIMIT_S + 2 * GRACE_S


@shared_task(name=EXECUTE_NEXT, time_limit=LAST_RESORT_S)
def execute_next_run() -> None:
    """Carry out the run whose turn it is, if there is any; a message too many does no harm.

    A worker that becomes free asks for the next one itself.
    """
    if execute_next():
        wake_workers(most=1)
        prepare_next_run()


swept(sweep_runs)
swept(wake_workers)
