"""What the runs of a study rest on: task sets, tasks and milestones, out and in; evaluators, in."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from django.db.models import QuerySet

from judging.models import Evaluation, EvaluatorVersion
from judging.portability.study_bundles.records import (
    EvaluatorLine,
    MilestoneLine,
    TaskLine,
    TaskRef,
    TaskSetLine,
)
from judging.portability.study_bundles.storing import BundleStore, StudyReport, find_task, is_same
from runs.models import Milestone, Run, Task, TaskRevision, TaskSet

OF_TASK = ("task__task_set__name", "task__task_set__version", "task__external_id")


class TaskLines:
    """Tasks of some runs, those that evaluators judged by, and what they were before patches."""

    def __init__(self, run_ids: QuerySet[Run, Any]) -> None:
        self._run_ids = run_ids

    def sets(self) -> Iterator[TaskSetLine]:
        """The sets of the tasks, and those that patches made them from."""
        sets: dict[int, TaskSet] = {}
        for task in self._tasks:
            each: TaskSet | None = task.task_set
            while each is not None and each.pk not in sets:
                sets[each.pk] = each
                each = each.parent
        return map(TaskSetLine.of, sorted(sets.values(), key=lambda one: (one.name, one.version)))

    def tasks(self) -> Iterator[TaskLine]:
        return (TaskLine.of(task, task=task) for task in self._tasks)

    def milestones(self) -> Iterator[MilestoneLine]:
        """One line a milestone, those that were removed too."""
        return (MilestoneLine.of(row, key=key) for key, row in self._milestone_rows())

    def milestone_key(self, pk: int | str) -> str | None:
        """How the file names a milestone; None for one of another task."""
        return self._milestone_keys.get(int(pk)) if str(pk).isdecimal() else None

    @cached_property
    def _milestone_keys(self) -> dict[int, str]:
        return {row.pk: key for key, row in self._milestone_rows()}

    @cached_property
    def _tasks(self) -> list[Task]:
        # Two questions by index: as one, it goes through the evaluations of all runs there are.
        of_runs = Run.objects.filter(pk__in=self._run_ids).order_by()
        judged = Evaluation.objects.filter(run__in=self._run_ids).exclude(task=None).order_by()
        missing = set(of_runs.values_list("task", flat=True).distinct())
        missing |= set(judged.values_list("task", flat=True).distinct())
        rows = Task.objects.select_related("task_set__parent", "original__task_set", "revision")
        found: dict[int, Task] = {}
        while missing:
            more = {task.pk: task for task in rows.filter(pk__in=missing)}
            found |= more
            missing = {task.original_id for task in more.values() if task.original_id} - set(found)
        return sorted(
            found.values(),
            key=lambda task: (task.task_set.name, task.task_set.version, task.external_id),
        )

    def _milestone_rows(self) -> Iterator[tuple[str, Milestone]]:
        rows = Milestone.objects.filter(task__in=[task.pk for task in self._tasks])
        ordered = rows.select_related("task__task_set", "added_by").order_by(
            *OF_TASK, "position", "added_at", "name"
        )
        for number, row in enumerate(ordered, start=1):
            yield f"m{number}", row


def store_tasks(store: BundleStore) -> None:
    """Make the sets, tasks and milestones that are missing; those that are here stay as they are.

    Before the runs, which would make them from what they say of them alone. Inside a transaction.
    """
    for line in store.bundle.lines(TaskSetLine):
        _store_set(line, store.report)
    originals: list[tuple[Task, TaskRef]] = []
    for task in store.bundle.lines(TaskLine):
        made = _store_task(store, task)
        if made and task.original:
            originals.append((made, task.original))
    for row, ref in originals:
        row.original = find_task(ref)
        row.save(update_fields=["original"])
    _store_milestones(store)


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


def _store_task(store: BundleStore, line: TaskLine) -> Task | None:
    """The row if it was made."""
    ref = line.task
    here = find_task(ref)
    same = is_same(line, TaskLine.of(here, task=here) if here else None)
    words = f"task {ref.task_set} {ref.version} {ref.id}: is otherwise here"
    if not store.report.is_new("tasks", same, words):
        return None
    task_set = TaskSet.objects.get(name=ref.task_set, version=ref.version)
    row = store.row(Task, line, task_set=task_set, external_id=ref.id, original=None)
    row.save(force_insert=True)
    if line.revision:
        store.row(TaskRevision, line.revision, task=row).save(force_insert=True)
    return row


def _store_milestones(store: BundleStore) -> None:
    """A task without milestones gets those of the file; one that has any keeps its own."""
    by_task: dict[TaskRef, list[MilestoneLine]] = defaultdict(list)
    for line in store.bundle.lines(MilestoneLine):
        by_task[line.task].append(line)
    for ref, lines in by_task.items():
        task = find_task(ref)
        if task is None:
            store.report.conflict(f"milestones of task {ref.id}: the task is not there")
            continue
        here = set(task.milestones.values_list("name", "weight", "is_ordered", "removed_at"))
        there = {(one.name, one.weight, one.is_ordered, one.removed_at) for one in lines}
        words = f"milestones of task {ref.id}: are otherwise here"
        if store.report.is_new("milestones", here == there if here else None, words, len(lines)):
            store.insert(Milestone, lines, task=task)


def store_evaluators(store: BundleStore) -> None:
    """Make the evaluators that are missing. Before the runs, which are judged as they come in."""
    for line in store.bundle.lines(EvaluatorLine):
        here = EvaluatorVersion.objects.filter(config_hash=line.config_hash).first()
        said = (line.name, line.version, line.kind)
        same = None if here is None else (here.name, here.version, here.kind) == said
        words = f"evaluator {line.name} {line.version}: is {here} here"
        if store.report.is_new("evaluators", same, words):
            store.insert(EvaluatorVersion, [line])


def milestones_by_key(store: BundleStore) -> dict[str, int]:
    """The rows that the keys of the file mean here; keys without one are missing."""
    found: dict[str, int] = {}
    for line in store.bundle.lines(MilestoneLine):
        rows = Milestone.objects.filter(task=find_task(line.task), name=line.name)
        exact = rows.filter(added_at=line.added_at).first()
        row = exact or rows.filter(removed_at=None).first()
        if row is not None:
            found[line.key] = row.pk
    return found
