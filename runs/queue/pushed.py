"""The end of a run that was pushed: told by its own side, or by the sweep when that is silent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from runs.catalogue.tasks.rows import task_record
from runs.models import Run, RunStatus
from runs.queue.attempts import announce
from runs.storage.records import run_columns
from webagent.trajectory.bundles import run_content_hash
from webagent.trajectory.pushed.runs import silent_record
from webagent.trajectory.records import EndReason, RunRecord, StepRecord


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
