"""Writing the milestones of tasks, also those that imported runs carry."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.utils import timezone
from pydantic import ValidationError

from runs.accounts.audit_log import record_entry
from runs.catalogue.milestones.definitions import (
    MOST,
    MilestoneFile,
    definition_of,
    definitions_of,
    digest_of_task,
)
from runs.models import Milestone, Task, User
from runs.models.audit_log import MILESTONES_CHANGED
from runs.models.hooks import announce_milestones
from runs.models.tasks import task_key
from webagent.milestones.findings import Definition, digest_of
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.intake import Problem
from webagent.trajectory.records import MilestoneRecord
from webagent.trajectory.values import first_field_error


class MilestonesChangedError(ValueError):
    """Somebody else has changed the task's milestones meanwhile; nothing was stored."""


class UnknownTasksError(ValueError):
    """The file names tasks that are not there; nothing was stored."""


@dataclass(frozen=True, slots=True)
class Stored:
    """How many tasks have other milestones now, and how many had them already."""

    changed: int
    same: int


@transaction.atomic
def set_milestones(
    *,
    task: Task,
    milestones: Sequence[Definition],
    user: User | None = None,
    origin: Milestone.Origin = Milestone.Origin.WRITTEN,
    expected: str | None = None,
) -> bool:
    """Make these, in this order, the task's milestones; False if they were so already.

    One of a name that is there already stays the same milestone, with what people said of it; so
    does one that was removed under that name earlier. The others are removed, and kept.

    Args:
        origin: of those that are new.
        expected: `digest_of_task` when the person looked.

    Raises:
        MilestonesChangedError: the task had other milestones than expected.
        ValueError: two have the same name.
    """
    if len({one.name for one in milestones}) < len(milestones):
        raise ValueError("two milestones have the same name")
    Task.objects.select_for_update(of=("self",)).get(pk=task.pk)
    before = digest_of_task(task)
    if digest_of(milestones) == before:  # also where the same form is sent twice
        return False
    if expected is not None and expected != before:
        raise MilestonesChangedError
    known = {row.name: row for row in task.milestones.order_by("-removed_at", "pk")}
    known |= {row.name: row for row in task.milestones.in_force()}
    names = [one.name for one in milestones]
    task.milestones.in_force().exclude(name__in=names).update(removed_at=timezone.now())
    for position, one in enumerate(milestones, start=1):
        row = known.get(one.name)
        if row is None:
            row = Milestone(task=task, origin=origin, added_by=user)
        _stated(row, one, position).save()
    record_entry(MILESTONES_CHANGED, about=task, after=f"{len(milestones)} in force", user=user)
    transaction.on_commit(partial(announce_milestones, Task, task.pk))
    return True


def _stated(row: Milestone, one: Definition, position: int) -> Milestone:
    """The row, in force at that position, as the definition states it."""
    row.name, row.position = one.name, position
    row.weight, row.is_ordered = one.weight, one.is_ordered
    row.rule = one.rule.model_dump(exclude_none=True) if one.rule else None
    row.removed_at = None
    return row


@transaction.atomic
def import_milestones(
    *, file: MilestoneFile, tasks: Iterable[Task], user: User | None = None
) -> Stored:
    """Give each task of the file the milestones that stand there; tasks it leaves out keep theirs.

    Args:
        tasks: those that may be written to, such as all of one set, in whatever version.

    Raises:
        UnknownTasksError: naming the tasks that are not among them; nothing was stored.
    """
    name = file.task_set.name
    by_id = {task.external_id: task for task in tasks}
    by_key = {task_key(name, spelled): task for spelled, task in by_id.items()}
    if missing := [each.task for each in file.tasks if task_key(name, each.task) not in by_key]:
        raise UnknownTasksError(", ".join(missing[:10]))
    changed = sum(
        set_milestones(
            task=by_id.get(entry.task) or by_key[task_key(name, entry.task)],
            milestones=entry.milestones,
            user=user,
            origin=Milestone.Origin.IMPORTED,
        )
        for entry in file.tasks
    )
    return Stored(changed, len(file.tasks) - changed)


def inherit_milestones(tasks: Sequence[Task]) -> None:
    """Give fresh versions of tasks the milestones of those that they were made from."""
    version = {task.original_id: task for task in tasks}
    inherited = list(Milestone.objects.in_force().filter(task__in=version.keys()))
    for row in inherited:
        row.pk, row.task = None, version[row.task_id]
    Milestone.objects.bulk_create(inherited)


def milestone_records(task: Task) -> tuple[MilestoneRecord, ...] | None:
    """Those in force, in their order; None if there are none. Prefetch `milestones`."""
    in_force = [definition_of(row) for row in task.milestones.all() if row.removed_at is None]
    written = [one.model_dump(mode="json", exclude_none=True) for one in in_force]
    return tuple(map(MilestoneRecord.model_validate, written)) or None


def store_milestones(task: Task, bundle: RunBundle) -> list[Problem]:
    """Give a task that never had milestones those of the run's file. Inside a transaction.

    A task that has its own keeps them: people and judges have spoken of them.
    """
    if not bundle.task.milestones:
        return []
    try:
        milestones = _read(bundle.task.milestones)
    except ValueError as error:
        return [_problem(bundle, str(error))]
    if digest_of(milestones) == digest_of(definitions_of(task)):
        return []
    if task.milestones.exists():
        return [_problem(bundle, "the task has other milestones here, which stay")]
    Milestone.objects.bulk_create(
        _stated(Milestone(task=task, origin=Milestone.Origin.IMPORTED), one, position)
        for position, one in enumerate(milestones, start=1)
    )
    transaction.on_commit(partial(announce_milestones, Task, task.pk))
    return []


def _read(records: Sequence[MilestoneRecord]) -> list[Definition]:
    """Raises ValueError."""
    if len(records) > MOST:
        raise ValueError(f"more than {MOST} milestones")
    if len({record.name.strip() for record in records}) < len(records):
        raise ValueError("two milestones have the same name")
    try:
        return [
            Definition(**record.model_dump(include=set(Definition.model_fields)))
            for record in records
        ]
    except ValidationError as error:
        raise ValueError(str(first_field_error(error))) from error


def _problem(bundle: RunBundle, reason: str) -> Problem:
    return Problem(bundle.source, f"task {bundle.task.external_id}"[:200], "milestones", reason)
