"""What the sweep does for runs: end what dead workers left, put back what never started."""

from __future__ import annotations

import logging

from django.conf import settings
from django.db import transaction

from runs.models import Run, RunStatus
from runs.queue.attempts import announce, follow_up
from runs.queue.pushed import end_silent
from runs.telemetry.counters import leases_expired
from webagent.environment.leftovers import end_leftovers
from webagent.logs.context import logged_with
from webagent.trajectory.faults import Fault
from webagent.trajectory.pushed.runs import PUSH_FORMAT

logger = logging.getLogger(__name__)


def sweep_runs() -> None:
    """Every run whose worker is gone ends or waits again; no browser of a dead worker is left."""
    end_leftovers()
    for run in Run.objects.expired().select_related("task__task_set", "agent", "experiment"):
        if run.source_format == PUSH_FORMAT:
            end_silent(run)
        elif run.status == RunStatus.RUNNING or run.lease_token >= settings.ENV.MAX_ATTEMPTS:
            end_abandoned(run)
    Run.objects.requeue_expired()
    Run.objects.call_off()
    while ended := Run.objects.end_cancelled():
        for run_id in ended:
            announce(run_id)


@transaction.atomic
def end_abandoned(run: Run) -> bool:
    """End a run whose lease ran out, and queue its next attempt; False if the worker woke up.

    Only the harness is to blame, so this is an error and never a failure. A run that was to be
    cancelled ends as that. The steps that were stored stay.
    """
    if run.cancel_requested_at:
        changes: dict[str, str] = {
            "status": RunStatus.CANCELLED,
            "outcome": Run.Outcome.INCOMPLETE,
            "end_reason": Run.EndReason.CANCELLED,
        }
    else:
        started = run.status == RunStatus.RUNNING
        changes = {
            "status": RunStatus.FAILED,
            "outcome": Run.Outcome.ERROR,
            "end_reason": Run.EndReason.KILLED if started else Run.EndReason.NEVER_STARTED,
            "error_origin": Run.ErrorOrigin.HARNESS,
            "fault": Run.Fault.WORKER_LOST,
            "error_message": f"The worker {run.lease_owner} died or froze: "
            f"it gave no sign of life for {settings.ENV.LEASE_S} s.",
        }
    ended = Run.objects.end_expired(run.pk, run.lease_token, **changes)
    if ended:
        leases_expired.labels("run").inc()
        with logged_with(run_id=str(run.pk), attempt=run.attempt):
            logger.warning("The worker of run %s is gone: %s.", run.pk, run.lease_owner)
        announce(run.pk)
        if not run.cancel_requested_at:
            follow_up(run, Fault.WORKER_LOST)
    return ended
