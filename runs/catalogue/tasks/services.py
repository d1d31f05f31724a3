"""Bringing task sets in: a whole file of tasks at once, or nothing of it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from django.db import transaction

from runs.accounts.audit_log import record_entry
from runs.catalogue.tasks.rows import task_columns, task_record
from runs.models import Task, TaskSet
from runs.models.audit_log import TASKS_IMPORTED
from runs.models.tasks import task_key
from runs.storage.records import stored_json
from webagent.placeholders import resolve
from webagent.trajectory.records import TaskRecord, TaskSetRecord

BATCH = 500
SHOWN_DIFFERENCES = 10
COMPARED = ("sites", "goal", "start_urls", "intent_template", "spec", "extra")
"""What a task says, by the names that differences are told with."""


class TaskSetError(ValueError):
    """The tasks cannot be brought into this set; the words say which and why."""


@dataclass(kw_only=True)
class TaskSetReport:
    """What an import of tasks did."""

    new: int = 0
    filled: int = 0
    """Known from a run alone so far, without specification."""
    already_there: int = 0
    by_site: Counter[str] = field(default_factory=Counter)
    by_kind: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.new + self.filled + self.already_there


def import_tasks(
    *, records: Iterable[TaskRecord], task_set: TaskSetRecord, hosts: dict[str, str]
) -> TaskSetReport:
    """Store the tasks of one set; those that are there stay as they are.

    A task that came with a run, without a specification, is filled in. All or nothing.

    Args:
        hosts: base URL by site: a run says what was shown, with placeholders replaced.

    Raises:
        TaskSetError: a stored task of this set has another content, or a patch made the set.
    """
    report = TaskSetReport()
    differences: list[str] = []
    with transaction.atomic():
        row, _ = TaskSet.objects.get_or_create(name=task_set.name, version=task_set.version)
        if row.parent_id:
            raise TaskSetError(f"{row} was made by a patch; tasks are imported into {row.parent}")
        for batch in _batches(records):
            differences += _store(batch, row, hosts, report)
            if len(differences) > SHOWN_DIFFERENCES:
                break
        if differences:
            raise TaskSetError(_differences_text(differences, row))
        if report.new or report.filled:
            after = f"{report.new} new, {report.filled} filled"
            record_entry(TASKS_IMPORTED, about=row, words=str(row), after=after)
    return report


def _batches(records: Iterable[TaskRecord]) -> Iterator[list[TaskRecord]]:
    rest = iter(records)
    while batch := list(itertools.islice(rest, BATCH)):
        yield batch


def _store(
    batch: list[TaskRecord], task_set: TaskSet, hosts: dict[str, str], report: TaskSetReport
) -> list[str]:
    """Store new ones and fill what is lacking; returns how stored ones differ."""
    names = [record.external_id for record in batch]
    prefixed = [f"{task_set.name}.{name}" for name in names]
    there = {
        task_key(task_set.name, task.external_id): task
        for task in task_set.tasks.filter(external_id__in=names + prefixed)
    }
    new, filled, differences = [], [], []
    for record in batch:
        columns = task_columns(record)
        report.by_site[" + ".join(record.sites) or "-"] += 1
        report.by_kind[columns["evaluation_kind"] or "-"] += 1
        task = there.get(record.external_id)
        if task is None:
            new.append(
                Task(
                    task_set=task_set,
                    external_id=record.external_id,
                    **columns,
                    record=stored_json(record),
                )
            )
        elif task.spec is None and not _clashes(task, columns, hosts):
            filled.append(_filled(task, record))
        else:
            differences += _differences(task, record)
            report.already_there += 1
    Task.objects.bulk_create(new, batch_size=BATCH)
    if filled:
        Task.objects.bulk_update(filled, [*task_columns(batch[0]), "record"], batch_size=100)
    report.new += len(new)
    report.filled += len(filled)
    return differences


def _clashes(task: Task, columns: dict[str, object], hosts: dict[str, str]) -> bool:
    """Whether a task that came with a run is another one: its goal says something else.

    Runs may add a note of their own after the goal.
    """
    goal = resolve(columns["goal"], hosts)
    return bool(task.goal) and not task.goal.startswith((str(columns["goal"]), str(goal)))


def _filled(task: Task, record: TaskRecord) -> Task:
    """The task as the file has it, under the id that its runs know it by."""
    known = record.model_copy(update={"external_id": task.external_id})
    for name, value in task_columns(known).items():
        setattr(task, name, value)
    task.record = stored_json(known)
    return task


def _differences(task: Task, record: TaskRecord) -> list[str]:
    stored, given = _compared(task_record(task)), _compared(record)
    return [
        f"task {record.external_id}: {name} differs (stored {_short(stored[name])},"
        f" in the file {_short(given[name])})"
        for name in COMPARED
        if stored[name] != given[name]
    ]


def _compared(record: TaskRecord) -> dict[str, object]:
    columns = task_columns(record)
    extra = stored_json(record).get("extra")
    return {name: extra if name == "extra" else columns[name] for name in COMPARED}


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:119]}…"


def _differences_text(differences: list[str], task_set: TaskSet) -> str:
    shown = differences[:SHOWN_DIFFERENCES]
    more = len(differences) - len(shown)
    return "\n".join(
        [
            f"{task_set} is stored with another content; import the file as another version:",
            *(f"  {line}" for line in shown),
            *(["  and more"] if more > 0 else []),
        ]
    )
