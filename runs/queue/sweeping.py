"""The sweep, which brings back lost messages and the work of dead workers, and next attempts.

Neither the file-system broker nor Redis gives back in time what a killed worker held, so this is
the only recovery. Each part of the site that queues work registers what it looks after. A process
of its own sweeps by the clock (`runs.operations.processes.parts`), whatever workers and broker do;
the task is for those who do not want to wait for it. A run that broke for no fault of its agent is
tried again, as a new row.
"""

import logging
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from celery import shared_task
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from runs.catalogue.tasks.rows import task_record
from runs.models import Experiment, ExperimentState, Run, RunStatus, User
from runs.models.hooks import announce_ends
from runs.models.policies import body_of
from runs.models.runs.queue import from_now
from runs.queue.workers import ask_for
from runs.storage.records import run_columns
from webagent.agents.running import SOURCE_FORMAT
from webagent.environment.browser import end_leftovers
from webagent.process.counters import leases_expired
from webagent.process.logs import logged_with
from webagent.recovery.retry_policy import Infrastructure
from webagent.trajectory.canonical import run_content_hash
from webagent.trajectory.faults import Fault
from webagent.trajectory.formats.pushed.runs import PUSH_FORMAT, silent_record
from webagent.trajectory.records import EndReason, RunRecord, StepRecord

logger = logging.getLogger(__name__)


def announce(run_id: UUID) -> None:
    """Say that the run has ended, once the transaction stands."""
    transaction.on_commit(partial(announce_ends, Run, [run_id]))


def follow_up(
    run: Run, fault: Fault | None, *, may_pass: bool = True, at_least_s: float = 0
) -> Run | None:
    """Queue the next attempt of a run that just ended in an error; None where there is none.

    Its policy, or else the settings, say after what, how often and when. Call it in the
    transaction that ends the run: either both stand or neither.

    Args:
        fault: what of the infrastructure broke the run; None if that is not to blame.
        may_pass: whether another attempt may be spared it.
        at_least_s: no attempt before so many seconds, whatever the policy says.
    """
    wait_s = wait_before_next(run, fault, may_pass=may_pass)
    if wait_s is None:
        return None
    if run.experiment_id is not None:
        cancelled = Experiment.objects.filter(state=ExperimentState.CANCELLED)
        if cancelled.filter(pk=run.experiment_id).exists():  # meanwhile
            return None
    return next_attempt(run, delay_s=max(wait_s, at_least_s))


def next_attempt(run: Run, *, delay_s: float = 0, created_by: User | None = None) -> Run:
    """A new, queued row for the same trial; the old one is superseded by it.

    Raises:
        IntegrityError: the run has a next attempt already.
    """
    later = Run.objects.create(
        task=run.task,
        agent=run.agent,
        experiment=run.experiment,
        seed=run.seed,
        trial=run.trial,
        max_steps=run.max_steps,
        priority=run.priority,
        queued_at=Now(),
        policy=run.policy,
        launch=run.launch,
        rerun_rule=run.rerun_rule,
        source_format=SOURCE_FORMAT,
        status=RunStatus.QUEUED,
        rerun_of=run.rerun_of,
        retry_of=run,
        family=run.root,
        attempt=run.attempt + 1,
        created_by=created_by or run.created_by,
        not_before=from_now(delay_s),
    )
    Run.objects.filter(pk=run.pk).update(superseded=True)
    return later


def wait_before_next(run: Run, fault: Fault | None, *, may_pass: bool) -> float | None:
    """Seconds to wait before the next attempt of a run that broke; None if there is none.

    Args:
        fault: what of the infrastructure broke it; None if that is not to blame.
        may_pass: whether another attempt may be spared it, as far as the engine knows. A policy
            that names the fault knows better.
    """
    patience = body_of(run.policy).infrastructure if run.policy else None
    is_covered = may_pass if patience is None else fault in patience.faults
    patience = patience or _as_set()
    if fault is None or not is_covered or run.attempt >= patience.attempts:
        return None
    spread: float = random.uniform(0.5, 1.5)  # noqa: S311 (spreads load, guards nothing)
    return patience.wait_s(run.attempt) * spread


def _as_set() -> Infrastructure:
    """What the settings say, for runs whose policy says nothing."""
    first = settings.ENV.RETRY_BACKOFF_S
    doubled = first * 2.0**settings.ENV.MAX_ATTEMPTS
    return Infrastructure(
        attempts=settings.ENV.MAX_ATTEMPTS,
        backoff_s=min(first, 86_400),
        backoff_cap_s=min(doubled, 86_400),
    )


SWEEP = "runs.tasks.sweep"
SWEEP_LIMIT_S = 300
"""A sweep that takes longer counts as hung."""

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
