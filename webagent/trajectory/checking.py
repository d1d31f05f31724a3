"""The last gate of every format: what a database and a page can take."""

from __future__ import annotations

import re
from collections.abc import Iterator

from webagent.trajectory.bounds import Bounds
from webagent.trajectory.bundles import Rejection, RunBundle, blobs_of
from webagent.trajectory.records import BlobRecord, EventRecord, Record, StepRecord
from webagent.trajectory.texts import NAME_CHARS, UNSTORABLE

_INT32 = 2**31 - 1
_INT64 = 2**63 - 1
_MEDIA_TYPE = re.compile(r"^[\w.+-]{1,40}/[\w.+-]{1,60}$", re.ASCII)
_ROLE = re.compile(r"^[a-z0-9_]{1,40}$")


def why_refused(bundle: RunBundle, bounds: Bounds) -> Rejection | None:
    """Why a run that was read cannot be taken; None if it can."""
    for field, reason in _faults(bundle, bounds):
        return Rejection(bundle.source, bundle.source, field, reason)
    return None


def _faults(bundle: RunBundle, bounds: Bounds) -> Iterator[tuple[str, str]]:
    run, task = bundle.run, bundle.task
    if len(bundle.steps) > bounds.steps_per_run:
        yield "steps", f"more than {bounds.steps_per_run} steps"
    if run.task_id != task.id:
        yield "run.task_id", "not the id of its task"
    names = {
        "task.task_set.name": task.task_set.name,
        "task.task_set.version": task.task_set.version,
        "run.agent.name": run.agent.name,
        "run.agent.version": run.agent.version or "-",
        "run.experiment": run.experiment or "-",
        "run.source.format": run.source.format,
    } | {f"run.models.{i}": name for i, name in enumerate(run.models)}
    for field, name in names.items():
        if not 0 < len(name) <= NAME_CHARS:
            yield field, f"empty or more than {NAME_CHARS} characters"
    small = {"run.trial": run.trial, "run.attempt": run.attempt}
    for field, number in small.items():
        if not 1 <= number <= _INT32:
            yield field, "not between 1 and 2147483647"
    for record in bundle.records():
        yield from _value_faults(record)
    for event in run.events:
        yield from _event_faults(event)
    yield from _step_faults(bundle.steps, run.id)
    verdicts = (bundle.evaluations, bundle.labels, bundle.adjudications)
    if any(verdict.run_id != run.id for kind in verdicts for verdict in kind):
        yield "run_id", "a verdict of another run"
    for record in bundle.records():
        for blob in blobs_of(record):
            yield from _blob_faults(blob)


def _step_faults(steps: tuple[StepRecord, ...], run_id: str) -> Iterator[tuple[str, str]]:
    for index, step in enumerate(steps):
        if step.index != index:
            yield "steps.index", f"{step.index} where {index} was due"
        if step.run_id != run_id:
            yield "steps.run_id", "a step of another run"


def _event_faults(event: EventRecord) -> Iterator[tuple[str, str]]:
    if event.last_step < event.first_step:
        yield "run.events", "ends before it begins"
    if event.last_step > _INT32:
        yield "run.events", f"ends after step {_INT32}"


def _blob_faults(blob: BlobRecord) -> Iterator[tuple[str, str]]:
    if not _MEDIA_TYPE.match(blob.media_type):
        yield "blob.media_type", "not a media type"
    if not _ROLE.match(blob.role):
        yield "blob.role", "not a role"
    if blob.name is not None and len(blob.name) > 500:
        yield "blob.name", "more than 500 characters"


def _value_faults(value: Record | tuple[object, ...]) -> Iterator[tuple[str, str]]:
    """Numbers and texts that no column holds, anywhere in the known fields."""
    inside = value.__dict__.items() if isinstance(value, Record) else ((".", it) for it in value)
    for name, item in inside:
        if item is None:
            continue
        if isinstance(item, str):
            if (not item.isascii() or "\0" in item) and UNSTORABLE.search(item):
                yield name, "holds a NUL or half a character"
        elif isinstance(item, int):
            if abs(item) > _INT64:
                yield name, "more than 63 bits"
        elif isinstance(item, (Record, tuple)) and item:
            for field, reason in _value_faults(item):
                yield _joined(name, field), reason


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}".strip(".")
