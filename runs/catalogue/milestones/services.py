"""Writing the milestones of tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.utils import timezone

from runs.accounts.audit_log import record_act
from runs.catalogue.milestones.definitions import MilestoneFile, digest_of_task
from runs.models import Milestone, Task, User
from runs.models.audit_kinds import MILESTONES_CHANGED
from runs.signals import announce_milestones
from webagent.milestones.definition import Definition, digest_of


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
            row = Milestone(task=task, name=one.name, origin=origin, added_by=user)
        row.position, row.weight, row.is_ordered = position, one.weight, one.is_ordered
        row.rule = one.rule.model_dump(exclude_none=True) if one.rule else None
        row.removed_at = None
        row.save()
    record_act(MILESTONES_CHANGED, about=task, after=f"{len(milestones)} in force", user=user)
    transaction.on_commit(partial(announce_milestones, Task, task.pk))
    return True


@transaction.atomic
def import_milestones(
    *, file: MilestoneFile, tasks: Iterable[Task], user: User | None = None
) -> Stored:
    """Give each task of the file the milestones that stand there; tasks it leaves out keep theirs.

    Args:
        tasks: those that may be written to, such as all of one set.

    Raises:
        UnknownTasksError: naming the tasks that are not among them; nothing was stored.
    """
    by_id = {task.external_id: task for task in tasks}
    if missing := [entry.task for entry in file.tasks if entry.task not in by_id]:
        raise UnknownTasksError(", ".join(missing[:10]))
    changed = sum(
        set_milestones(
            task=by_id[entry.task],
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
    inherited = Milestone.objects.in_force().filter(task__in=version.keys())
    Milestone.objects.bulk_create(
        Milestone(
            task=version[row.task_id],
            position=row.position,
            name=row.name,
            weight=row.weight,
            is_ordered=row.is_ordered,
            rule=row.rule,
            origin=row.origin,
            added_by_id=row.added_by_id,
        )
        for row in inherited
    )
