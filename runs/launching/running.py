"""Carrying out one run that was claimed, from the browser's start to the stored end."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from celery import shared_task
from django.conf import settings
from django.db import transaction

from runs.catalogue.agents import NotRunnableError, live_agent
from runs.catalogue.tasks.rows import task_record
from runs.knowledge.hints.of_runs import advised_agent, choice_for, hint_record
from runs.launching.agents import DEFAULT_MAX_STEPS, task_name
from runs.launching.experiments.starting import put_off_until_ready, refuse_beyond_budget
from runs.launching.sites import sites_now
from runs.models import Attachment, Event, HintChoice, Run, RunStatus
from runs.models.policies import body_of, policy_record
from runs.queue.leases import Lease, LeaseLostError, claim, claim_next
from runs.queue.steps import GRACE_S, Heartbeat, StepStore, retry_write
from runs.queue.sweeping import announce, follow_up, sweep_runs, swept
from runs.queue.workers import EXECUTE_NEXT, is_stopping, prepare_next_run, wake_workers
from runs.storage.blobs import known_hashes
from runs.storage.records import attachment_rows, event_rows, run_columns
from webagent.agents.running import SOURCE_FORMAT, never, run_episode
from webagent.environment.browser import end_leftovers, mark_browsers
from webagent.process.counters import count_attempt
from webagent.process.logs import logged_with
from webagent.recovery.retry_policy import PolicyBody
from webagent.trajectory.canonical import run_content_hash
from webagent.trajectory.faults import Fault
from webagent.trajectory.records import (
    AgentRecord,
    EndReason,
    ErrorOrigin,
    ErrorRecord,
    Json,
    Outcome,
    RunRecord,
    SourceRecord,
    StepRecord,
)

logger = logging.getLogger(__name__)


def terms_of(run: Run) -> dict[str, Any]:
    """What `run_episode` is to know of policy and limits; its agents are new, for this run.

    Raises:
        NotRunnableError: the agent that takes over cannot run here.
    """
    body = body_of(run.policy) if run.policy else PolicyBody()
    limits, asked = body.run, run.max_steps or DEFAULT_MAX_STEPS
    longest = float(settings.ENV.RUN_TIME_LIMIT_S)
    return {
        "policy": body.recovery,
        "other_agent": None if body.other_agent is None else live_agent(body.other_agent),
        "max_steps": min(asked, limits.steps or asked),
        "time_limit_s": min(longest, limits.seconds or longest),
        "max_tokens": limits.tokens,
        "max_cost": limits.dollars,
    }


OnStep = Callable[[StepRecord], None]


def execute(
    run_id: UUID, *, on_step: OnStep | None = None, should_stop: Callable[[], bool] = never
) -> bool:
    """Carry out this queued run; False if it was not there to be had (a worker took it, say)."""
    claimed = claim(run_id)
    if claimed is not None:
        carry_out(*claimed, on_step=on_step, should_stop=should_stop)
    return claimed is not None


def execute_next() -> bool:
    """Carry out the run whose turn it is; False if none is due, or if this worker is to stop.

    One that is to stop may yet be given a message: it would only cost the run an attempt.
    """
    claimed = None if is_stopping() else claim_next()
    if claimed is not None:
        carry_out(*claimed)
    return claimed is not None


def carry_out(
    run: Run,
    lease: Lease,
    *,
    on_step: OnStep | None = None,
    should_stop: Callable[[], bool] = never,
) -> None:
    """Carry out a run that was claimed.

    Every step is stored when it happens. Whatever goes wrong ends the run; only a worker that
    lost its run ends without a word, since another one or the sweep has spoken already.
    When `should_stop` says so, the run ends as cancelled.
    """
    with logged_with(run_id=str(run.pk), attempt=run.attempt):
        if refuse_beyond_budget(run, lease):
            return
        mark_browsers()
        end_leftovers()
        try:
            if put_off_until_ready(run, lease):
                return
            with Heartbeat(lease) as heartbeat:
                lease.start()
                steps = StepStore(lease, on_step)
                record = _play(run, steps, heartbeat, should_stop)
            retry_write(lambda: _end(run, lease, record, steps))
            count_attempt(_status(record), record)
        except LeaseLostError as lost:
            logger.warning("Stopped: %s.", lost)


def _play(
    run: Run, steps: StepStore, heartbeat: Heartbeat, should_stop: Callable[[], bool]
) -> RunRecord:
    """The run as a record. Our own faults end it as an error of the harness."""
    task = task_record(run.task)
    sites = {"start": sites_now(run.task)}
    choice: HintChoice | None = None
    try:
        terms = terms_of(run)
        choice = choice_for(run)
        record = run_episode(
            task_name(run.task),
            advised_agent(run, choice),
            run_id=str(run.pk),
            task_id=task.id,
            sink=steps,
            seed=run.seed,
            **terms,
            should_stop=lambda: heartbeat.should_stop() or should_stop(),
            evaluation=task.eval,
            let_through=(LeaseLostError,),
        )
    except LeaseLostError:
        raise
    except NotRunnableError as error:
        record = _broken(run, error, retriable=False)
    except Exception as error:  # a fault of ours must not look like a dead worker
        logger.exception("Run %s broke.", run.pk)
        record = _broken(run, error, retriable=True)
    is_ours = is_stopping() and not (heartbeat.is_cancelled or should_stop())
    if record.end_reason is EndReason.CANCELLED and is_ours:
        record = _handed_back(record)
    sites["end"] = sites_now(run.task, at_end=True)
    return record.model_copy(update=_place(run) | {"extra": _extra(run, record, sites, choice)})


@transaction.atomic
def _end(run: Run, lease: Lease, record: RunRecord, steps: StepStore) -> None:
    """Write the end of the run, and queue its next attempt where the fault was not the agent's."""
    task = task_record(run.task)
    columns = run_columns(record, task.goal)
    lease.end(
        _status(record),
        n_steps=len(steps.steps),
        n_screenshots=steps.n_screenshots,
        content_hash=run_content_hash(task, record, tuple(steps.steps)),
        **columns,
    )
    Event.objects.bulk_create(event_rows(run.pk, record.events))
    files = list(attachment_rows(run.pk, record))
    stored = known_hashes(file.blob_id for file in files)
    Attachment.objects.bulk_create(file for file in files if file.blob_id in stored)
    _try_again(run, record)
    announce(run.pk)


def _status(record: RunRecord) -> RunStatus:
    if record.outcome is Outcome.ERROR:
        return RunStatus.FAILED
    if record.end_reason is EndReason.CANCELLED:
        return RunStatus.CANCELLED
    return RunStatus.FINISHED


def _try_again(run: Run, record: RunRecord) -> None:
    """Queue the next attempt if the infrastructure broke this one, as far as it may have one."""
    if record.outcome is not Outcome.ERROR or record.error is None:
        return
    told = record.extra or {}
    asked = told.get("retry_after_s")
    follow_up(
        run,
        record.error.blamed,
        may_pass=bool(told.get("retriable", True)),
        at_least_s=asked if isinstance(asked, int | float) else 0,
    )


def _place(run: Run) -> dict[str, object]:
    """Where the run stands among others, for its record."""
    return {
        "experiment": run.experiment.name if run.experiment else None,
        "trial": run.trial,
        "attempt": run.attempt,
        "retry_of": str(run.retry_of_id) if run.retry_of_id else None,
        "rerun_of": str(run.rerun_of_id) if run.rerun_of_id else None,
    }


def _extra(
    run: Run, record: RunRecord, sites: dict[str, list[Json]], choice: HintChoice | None
) -> Json | None:
    """What the record says beside the format's own fields: policy, hint, how the sites were."""
    extra: dict[str, Any] = dict(record.extra or {})
    if run.policy is not None:
        extra["retry_policy"] = policy_record(run.policy)
    if choice is not None:
        extra["hint"] = hint_record(choice)
    if any(sites.values()):
        extra["sites"] = sites
    return extra or None


def _handed_back(record: RunRecord) -> RunRecord:
    """The record of a run whose worker was asked to stop: nobody cancelled it."""
    error = ErrorRecord(
        message="The worker was shut down.", origin=ErrorOrigin.HARNESS, fault=Fault.WORKER_LOST
    )
    return record.model_copy(
        update={
            "outcome": Outcome.ERROR,
            "end_reason": EndReason.KILLED,
            "error": error,
            "reward": None,
        }
    )


def _broken(run: Run, error: Exception, *, retriable: bool) -> RunRecord:
    """The record of a run that our own part of the work broke."""
    now = datetime.now(UTC)
    return RunRecord(
        id=str(run.pk),
        task_id=task_record(run.task).id,
        source=SourceRecord(format=SOURCE_FORMAT, tool="crosscheck"),
        agent=AgentRecord(name=run.agent.name, version=run.agent.version or None),
        seed=run.seed,
        max_steps=run.max_steps,
        started_at=run.heartbeat_at,
        ended_at=now,
        outcome=Outcome.ERROR,
        end_reason=EndReason.EXCEPTION,
        error=ErrorRecord(
            message=f"{type(error).__name__}: {error}",
            origin=ErrorOrigin.HARNESS,
            fault=Fault.HARNESS if retriable else Fault.TASK_UNAVAILABLE,
        ),
        extra={"retriable": retriable},
    )


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
