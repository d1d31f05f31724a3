"""What the sweep does for runs: end what dead workers left, put back what never started.

The sweep: what brings back lost messages and the work of dead workers.

Neither the file-system broker nor Redis gives back in time what a killed worker held, so this is
the only recovery. Each part of the site that queues work registers what it looks after. A process
of its own sweeps by the clock (`runs.operations.processes.parts`), whatever workers and
broker do; the task is for those who do not want to wait for it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from celery import shared_task
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from runs.catalogue.tasks.rows import task_record
from runs.counters import leases_expired
from runs.models import Run, RunStatus
from runs.queue.attempts import announce, follow_up
from runs.queue.messages import ask_for
from runs.storage.records import run_columns
from webagent.environment.leftovers import end_leftovers
from webagent.logs import logged_with
from webagent.trajectory.bundles import run_content_hash
from webagent.trajectory.faults import Fault
from webagent.trajectory.pushed.runs import PUSH_FORMAT, silent_record
from webagent.trajectory.records import EndReason, RunRecord, StepRecord

logger = logging.getLogger(__name__)

SWEEP = "runs.tasks.sweep"
SWEEP_LIMIT_S = 300
"""One that takes longer stands still."""

Sweeper = TypeVar("Sweeper", bound=Callable[[], object])
_sweepers: list[Callable[[], object]] = []


def swept(function: Sweeper) -> Sweeper:
    """Have the function called at every sweep. It must be safe to run twice at a time."""
    _sweepers.append(function)
    return function


@shared_task(name=SWEEP, time_limit=SWEEP_LIMIT_S)
def sweep() -> None:
    """Call every registered function; one that fails does not keep the others from theirs."""
    for function in _sweepers:
        try:
            function()
        except Exception:
            logger.exception("The sweep of %s failed.", function.__qualname__)


def ask_for_sweep() -> None:
    """Have a sweep soon; without a broker there is one anyway, a little later."""
    if not ask_for(SWEEP):
        logger.warning("The broker cannot be reached; the next sweep comes by the clock.")


def steps_so_far(run: Run) -> tuple[StepRecord, ...]:
    """Every step of the run, in order."""
    return tuple(step.to_record() for step in run.steps.order_by("index").iterator())


def ending_columns(run: Run, record: RunRecord, steps: Sequence[StepRecord]) -> dict[str, Any]:
    """What the row of a run says once it has ended as its record tells."""
    task = task_record(run.task)
    is_cancelled = record.end_reason is EndReason.CANCELLED
    return {
        "status": RunStatus.CANCELLED if is_cancelled else RunStatus.FINISHED,
        "content_hash": run_content_hash(task, record, tuple(steps)),
        **run_columns(record, task.goal),
    }


@transaction.atomic
def end_silent(run: Run) -> bool:
    """End a pushed run whose side let the lease run out; False if it was heard of meanwhile.

    That is incomplete and never a failure of the agent, of whom nothing more is known. The steps
    that were sent stay. Nobody here could try again.
    """
    steps = steps_so_far(run)
    record = silent_record(
        RunRecord.model_validate(run.record),
        steps,
        silent_s=settings.ENV.PUSH_LEASE_S,
        is_cancelled=run.cancel_requested_at is not None,
        ended_at=run.heartbeat_at or timezone.now(),
    )
    ended = Run.objects.end_expired(run.pk, run.lease_token, **ending_columns(run, record, steps))
    if ended:
        announce(run.pk)
    return ended


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
