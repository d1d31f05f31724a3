"""Runs that an agent elsewhere sends while they happen.

Such a run is `running` from its first word to its last, held by its own side: no worker can claim
it, every word of it renews the lease, and the sweep ends it once it is silent. Every write holds
the row of the run, so that of two at a time the second sees what the first did.
"""

import uuid

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from runs.catalogue.agents import store_agent
from runs.catalogue.tasks.rows import store_task, task_record
from runs.imports.session import experiment_named, import_bounds
from runs.models import Attachment, Run, RunStatus, Step, Task, User
from runs.models.runs.queue import from_now
from runs.queue.sweeping import announce, ending_columns, steps_so_far
from runs.storage.blobs import BlobBatch
from runs.storage.records import attachment_rows, run_columns, step_row
from runs.storage.usage import QuotaError, demand_room
from webagent.trajectory.canonical import hashed_json, plain_json
from webagent.trajectory.formats.pushed.runs import (
    Ending,
    Opening,
    PushedStep,
    PushedTask,
    clean_ending,
    clean_opening,
    ended_record,
    new_task_record,
    opened_record,
    with_redacted,
)
from webagent.trajectory.formats.pushed.steps import Recorded, recorded_step
from webagent.trajectory.intake import InputError
from webagent.trajectory.records import RunRecord, StepRecord

TOKEN = 1
"""Fencing token of a pushed run: it has one claim, that of its own side."""


class RunEndedError(Exception):
    """The run has ended, as its row says, and takes nothing more."""


class StepRefusedError(Exception):
    """The step cannot stand at its index; `next_step` is the one that is awaited."""

    def __init__(self, message: str, next_step: int) -> None:
        super().__init__(message)
        self.next_step = next_step


@transaction.atomic
def open_run(*, opening: Opening, user: User) -> Run:
    """A run that goes on elsewhere from now.

    Raises:
        InputError: its task is not here and nothing tells its goal, it is nested too deeply, or
            its experiment has no room.
    """
    clean = clean_opening(opening, import_bounds())
    task = _task(clean.task)
    told = clean.goal or (clean.task.goal if clean.task.goal != task.goal else None)
    described = task_record(task)
    run_id = uuid.uuid4()
    experiment = experiment_named(clean.experiment, user)
    try:
        demand_room(experiment, n_runs=1)
    except QuotaError as error:
        raise InputError("experiment", str(error)) from None
    record = opened_record(
        clean.model_copy(update={"goal": told}),
        run_id=str(run_id),
        task=described,
        opened_at=timezone.now(),
    )
    return Run.objects.create(
        id=run_id,
        task=task,
        agent=store_agent(record.agent, record.models),
        experiment=experiment,
        status=RunStatus.RUNNING,
        created_by=user,
        lease_owner=f"push {run_id}",
        lease_token=TOKEN,
        lease_expires_at=from_now(settings.ENV.PUSH_LEASE_S),
        heartbeat_at=Now(),
        **run_columns(record, described.goal),
    )


def append_step(*, run: Run, index: int, sent: PushedStep) -> tuple[Run, bool]:
    """Keep a step of a pushed run; one that was kept already is kept once.

    Its files are written before the transaction, so that a process which dies between leaves a
    file that no row names, and nothing else.

    Returns:
        the row as it is now, and whether the step is new.

    Raises:
        RunEndedError: it came too late.
        StepRefusedError: another step stands at this index, or one before it is missing.
        InputError: it cannot be kept, or its experiment has no room for its files.
        OSError: its files cannot be written.
    """
    bounds = import_bounds()
    if index >= bounds.steps_per_run:
        raise InputError("index", f"a run has at most {bounds.steps_per_run} steps")
    recorded = recorded_step(
        sent,
        run_id=str(run.pk),
        index=index,
        goal=run.goal,
        model=run.agent.model or None,
        bounds=bounds,
    )
    batch = BlobBatch()
    is_next = run.is_active and index == run.n_steps
    if is_next:
        _demand_room(run, recorded)
        _write(recorded, batch)
    with transaction.atomic():
        if is_next:
            # Once more, as the experiment is held from here; before the run, as imports do.
            _demand_room(run, recorded)
        row = _renewed(run)
        if index < row.n_steps:
            _demand_same(run, recorded.step, row.n_steps)
            return row, False
        if index > row.n_steps or index > run.n_steps:
            raise StepRefusedError(
                f"Step {row.n_steps} is awaited; steps come one after another.", row.n_steps
            )
        _store(row, recorded, batch)
        return row, True


@transaction.atomic
def beat(*, run: Run) -> Run:
    """A sign of life of a pushed run; the row as it is now.

    Raises:
        RunEndedError: it came too late.
    """
    return _renewed(run)


@transaction.atomic
def end_run(*, run: Run, sent: Ending) -> bool:
    """End a pushed run; whether it had not ended like that already.

    Raises:
        RunEndedError: it has ended otherwise.
        InputError: the end cannot be kept.
    """
    ending, redacted = clean_ending(sent, run.goal, import_bounds())
    held = Run.objects.beat(run.pk, TOKEN, lease_s=settings.ENV.PUSH_LEASE_S)
    row = Run.objects.select_related("task__task_set", "agent").get(pk=run.pk)
    opened = RunRecord.model_validate(row.record)
    steps = steps_so_far(row)
    record = ended_record(opened, ending, steps, ended_at=row.ended_at or timezone.now())
    if not held:
        if hashed_json(record) != hashed_json(opened):
            raise RunEndedError
        return False
    record = with_redacted(record, redacted)
    Run.objects.end(row.pk, TOKEN, **ending_columns(row, record, steps))
    announce(row.pk)
    return True


def _task(sent: PushedTask) -> Task:
    """The row of the task; one that is here stays as it is, whatever is sent of it."""
    if sent.id is not None:
        known = Task.objects.filter(task_set__name=sent.task_set, external_id=sent.id)
        if sent.version is not None:
            known = known.filter(task_set__version=sent.version)
        if found := known.select_related("task_set").order_by("-task_set__pk").first():
            return found
        if not (sent.goal or "").strip():
            raise InputError("task.id", "there is no such task; tell its goal to have it made")
    return store_task(new_task_record(sent))


def _demand_room(run: Run, recorded: Recorded) -> None:
    """Raises InputError if the experiment may not hold the step's files too."""
    n_bytes = sum(map(len, recorded.blobs.values()))
    if not n_bytes:
        return
    try:
        demand_room(run.experiment, n_runs=0, n_bytes=n_bytes)
    except QuotaError as error:
        raise InputError("experiment", str(error)) from None


def _write(recorded: Recorded, batch: BlobBatch) -> None:
    """Write the step's files. Raises InputError if a picture of them cannot be decoded."""
    named = [seen for seen in (recorded.step.before, recorded.step.after) if seen]
    types = {
        blob.sha256: (blob.media_type, blob.role)
        for seen in named
        for blob in (seen.screenshot, seen.marked_screenshot, seen.a11y_tree)
        if blob is not None
    }
    for sha256, content in recorded.blobs.items():
        media_type, role = types[sha256]
        batch.add(content, media_type)
        if reason := batch.undecodable.get(sha256):
            raise InputError(role, reason)


def _renewed(run: Run) -> Run:
    """Renew the lease and hold the row until the transaction ends; the row as it is now."""
    if not Run.objects.beat(run.pk, TOKEN, lease_s=settings.ENV.PUSH_LEASE_S):
        raise RunEndedError
    columns = ("n_steps", "record", "cancel_requested_at", "status")
    return Run.objects.only(*columns).get(pk=run.pk)


def _demand_same(run: Run, sent: StepRecord, next_step: int) -> None:
    kept = Step.objects.get(run=run, index=sent.index).to_record()
    if hashed_json(kept) != hashed_json(sent):
        raise StepRefusedError(
            f"Step {sent.index} stands already, with another content.", next_step
        )


def _store(row: Run, recorded: Recorded, batch: BlobBatch) -> None:
    batch.save()
    step = step_row(row.pk, recorded.step)
    step.save(force_insert=True)
    Attachment.objects.bulk_create(attachment_rows(row.pk, recorded.step, step))
    row.n_steps += 1
    pictures = sum(one is not None for one in (step.screenshot_id, step.after_screenshot_id))
    changes: dict[str, object] = {
        "n_steps": row.n_steps,
        "n_screenshots": F("n_screenshots") + pictures,
    }
    if recorded.redacted:
        record = with_redacted(RunRecord.model_validate(row.record), recorded.redacted)
        changes["record"] = plain_json(record)
    Run.objects.filter(pk=row.pk).update(**changes)
