"""Storing what runs rest on: task sets, tasks with what patches changed in them, milestones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.db import models

from judging.portability.study_bundles.reading import StudyBundle
from judging.portability.study_bundles.records import MilestoneLine, TaskLine, TaskRef, TaskSetLine
from judging.portability.study_bundles.row_lines import task_line
from runs.models import Milestone, Task, TaskRevision, TaskSet, User
from webagent.trajectory.canonical import hashed_json

MOST_CONFLICTS = 1000


@dataclass(slots=True)
class StudyReport:
    """What is new, what was here, and what is here otherwise and stays so."""

    study: str = ""
    study_id: int | None = None
    new: Counter[str] = field(default_factory=Counter)
    """Lines stored, by kind."""
    already_there: Counter[str] = field(default_factory=Counter)
    conflicts: list[str] = field(default_factory=list)
    n_conflicts: int = 0
    people: list[str] = field(default_factory=list)
    """Usernames of accounts that were made: without a password, and not active."""

    def conflict(self, words: str) -> None:
        """Note what is here otherwise."""
        self.n_conflicts += 1
        if len(self.conflicts) < MOST_CONFLICTS:
            self.conflicts.append(words)

    def to_json(self) -> dict[str, Any]:
        return {
            "study": self.study,
            "new": dict(sorted(self.new.items())),
            "already_there": dict(sorted(self.already_there.items())),
            "conflicts": self.conflicts,
            "n_conflicts": self.n_conflicts,
            "people": self.people,
        }


M = TypeVar("M", bound=models.Model)


def store_rows(rows: Sequence[M], *times: str) -> None:
    """Insert the rows; `times` name columns that would otherwise say now."""
    if not rows:
        return
    manager = type(rows[0])._default_manager
    wanted = [[getattr(row, name) for name in times] for row in rows]
    manager.bulk_create(rows, batch_size=200)
    if not times:
        return
    for row, values in zip(rows, wanted, strict=True):
        for name, value in zip(times, values, strict=True):
            setattr(row, name, value)
    manager.bulk_update(rows, list(times), batch_size=200)


class People:
    """Accounts by username; who is missing gets one that nobody can log in to."""

    def __init__(self, report: StudyReport) -> None:
        self._report = report
        self._known: dict[str, User] = {}

    def __call__(self, username: str) -> User:
        """The account of that name."""
        if username not in self._known:
            user = User.objects.filter(username=username).first()
            if user is None:
                # As it is spelled there: the same name comes out again.
                user = User(username=username, is_active=False)
                user.set_unusable_password()
                user.save()
                self._report.people.append(username)
            self._known[username] = user
        return self._known[username]

    def maybe(self, username: str | None) -> User | None:
        """The same where there may be nobody."""
        return self(username) if username else None


def store_tasks(bundle: StudyBundle, report: StudyReport, people: People) -> None:
    """Make the sets, tasks and milestones that are missing; those that are here stay as they are.

    Before the runs, which would make them from what they say of them alone. Inside a transaction.
    """
    for line in bundle.lines(TaskSetLine):
        _store_set(line, report)
    originals: list[tuple[Task, TaskRef]] = []
    for task in bundle.lines(TaskLine):
        made = _store_task(task, report)
        if made and task.original:
            originals.append((made, task.original))
    for row, ref in originals:
        row.original = find_task(ref)
        row.save(update_fields=["original"])
    _store_milestones(bundle, report, people)


def find_task(ref: TaskRef | None) -> Task | None:
    """The row of a task that a line names."""
    if ref is None:
        return None
    named = Task.objects.filter(task_set__name=ref.task_set, task_set__version=ref.version)
    return named.filter(external_id=ref.id).first()


def milestones_by_key(bundle: StudyBundle) -> dict[str, int]:
    """The rows that the keys of the file mean here; keys without one are missing."""
    found: dict[str, int] = {}
    for line in bundle.lines(MilestoneLine):
        rows = Milestone.objects.filter(task=find_task(line.task), name=line.name)
        exact = rows.filter(added_at=line.added_at).first()
        row = exact or rows.filter(removed_at=None).first()
        if row is not None:
            found[line.key] = row.pk
    return found


def _store_set(line: TaskSetLine, report: StudyReport) -> None:
    parent = None
    if line.parent is not None:
        parent, _ = TaskSet.objects.get_or_create(name=line.name, version=line.parent)
    row, is_new = TaskSet.objects.get_or_create(
        name=line.name,
        version=line.version,
        defaults={"parent": parent, "patch": line.patch, "patch_hash": line.patch_hash},
    )
    # A parent is named before its own line comes.
    if not is_new and parent and row.parent_id is None and not row.tasks.exists():
        row.parent, row.patch, row.patch_hash = parent, line.patch, line.patch_hash
        row.save(update_fields=["parent", "patch", "patch_hash"])
    elif not is_new and row.patch_hash != line.patch_hash:
        report.conflict(f"task set {line.name} {line.version}: another patch made it here")
    (report.new if is_new else report.already_there)["task_sets"] += 1


def _store_task(line: TaskLine, report: StudyReport) -> Task | None:
    """The row if it was made."""
    here = find_task(line.task)
    if here is not None:
        if hashed_json(task_line(here)) == hashed_json(line):
            report.already_there["tasks"] += 1
        else:
            ref = line.task
            report.conflict(f"task {ref.task_set} {ref.version} {ref.id}: is otherwise here")
        return None
    row = Task.objects.create(
        task_set=TaskSet.objects.get(name=line.task.task_set, version=line.task.version),
        external_id=line.task.id,
        **line.model_dump(exclude={"task", "original", "revision"}),
    )
    if line.revision:
        TaskRevision.objects.create(task=row, **line.revision.model_dump())
    report.new["tasks"] += 1
    return row


def _store_milestones(bundle: StudyBundle, report: StudyReport, people: People) -> None:
    """A task without milestones gets those of the file; one that has any keeps its own."""
    by_task: dict[TaskRef, list[MilestoneLine]] = defaultdict(list)
    for line in bundle.lines(MilestoneLine):
        by_task[line.task].append(line)
    for ref, lines in by_task.items():
        task = find_task(ref)
        if task is None:
            report.conflict(f"milestones of task {ref.id}: the task is not there")
        elif task.milestones.exists():
            here = set(task.milestones.values_list("name", "weight", "is_ordered", "removed_at"))
            there = {(one.name, one.weight, one.is_ordered, one.removed_at) for one in lines}
            if here == there:
                report.already_there["milestones"] += len(lines)
            else:
                report.conflict(f"milestones of task {ref.id}: are otherwise here")
        else:
            store_rows([_milestone(task, line, people) for line in lines], "added_at")
            report.new["milestones"] += len(lines)


def _milestone(task: Task, line: MilestoneLine, people: People) -> Milestone:
    return Milestone(
        task=task,
        added_by=people.maybe(line.added_by),
        **line.model_dump(exclude={"key", "task", "added_by"}),
    )
