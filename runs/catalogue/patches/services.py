"""Patching task sets: one version becomes the next, whole, and can be taken back."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from pydantic import TypeAdapter

from runs.accounts.audit_log import record_entry
from runs.catalogue.milestones.services import inherit_milestones
from runs.catalogue.patches.changes import (
    Change,
    ChangeError,
    Content,
    apply_changes,
    checked_content,
    content_bytes,
    take_back_changes,
)
from runs.catalogue.patches.files import SHOWN_PROBLEMS, PatchEntry, TaskPatch
from runs.catalogue.tasks.rows import evaluation_kind, task_content, task_record
from runs.models import Task, TaskRevision, TaskSet
from runs.models.audit_log import PATCH_TAKEN_BACK, TASKS_PATCHED
from runs.models.tasks import task_key
from webagent.trajectory.canonical import plain_json
from webagent.trajectory.records import TaskSetRecord, TextPart
from webagent.trajectory.texts import bounded_name

BATCH = 500

_CHANGES: TypeAdapter[list[Change]] = TypeAdapter(list[Change])


class TaskPatchError(ValueError):
    """The patch cannot be applied or taken back; the words say which tasks and why."""


@dataclass(kw_only=True)
class PatchReport:
    """What a patch did, or would do."""

    task_set: str
    tasks: int = 0
    patched: int = 0
    by_category: Counter[str] = field(default_factory=Counter)
    left_out: list[str] = field(default_factory=list)
    """Tasks of the patch that the set does not hold."""
    is_new: bool = True


@transaction.atomic
def apply_patch(
    *,
    patch: TaskPatch,
    from_version: str | None = None,
    to_version: str | None = None,
    skip_missing: bool = False,
    is_dry_run: bool = False,
) -> PatchReport:
    """Make a new version of the patch's task set with all its tasks, patched or not.

    All or nothing. Applying the same patch again does nothing.

    Args:
        from_version, to_version: instead of those that the patch names.
        skip_missing: leave out entries for tasks that the set does not hold.
        is_dry_run: check everything, keep nothing.

    Raises:
        TaskPatchError: the set is not there, the new version is another one, a task is missing
            or has another content than the patch was made for.
    """
    head = patch.head
    base, name = from_version or head.from_version, to_version or head.to_version
    parent = TaskSet.objects.filter(name=head.task_set, version=base).first()
    if parent is None:
        raise TaskPatchError(
            f"there is no task set {head.task_set} {base}; import it first with"
            f" manage.py import_tasks FILE --set {head.task_set} --version {base}"
        )
    there = TaskSet.objects.filter(name=head.task_set, version=name).first()
    if there is not None:
        return _already(there, parent, patch)
    report = _derive(parent, name, patch, skip_missing)
    after = f"{name}, {report.patched} tasks patched"
    record_entry(TASKS_PATCHED, about=parent, words=parent.name, before=base, after=after)
    if is_dry_run:
        transaction.set_rollback(True)
    return report


@transaction.atomic
def take_back_patch(
    *, patch: TaskPatch, to_version: str | None = None, is_dry_run: bool = False
) -> PatchReport:
    """Remove the version that the patch made; its parent stays as it was.

    Before that, taking the changes back is tried on every patched task, and must give the
    original's content byte for byte.

    Raises:
        TaskPatchError: there is no such version, another patch made it, or something uses it.
    """
    name = to_version or patch.head.to_version
    report = _remove(patch, name)
    record_entry(PATCH_TAKEN_BACK, words=patch.head.task_set, before=name)
    if is_dry_run:
        transaction.set_rollback(True)
    return report


def _already(there: TaskSet, parent: TaskSet, patch: TaskPatch) -> PatchReport:
    if there.patch_hash != patch.hash or there.parent_id != parent.pk:
        raise TaskPatchError(
            f"{there} exists already and was not made from {parent} by this patch; name another"
            " version for the new one"
        )
    revisions = TaskRevision.objects.filter(task__task_set=there)
    return PatchReport(
        task_set=str(there),
        tasks=there.tasks.count(),
        patched=revisions.count(),
        by_category=Counter(revisions.values_list("category", flat=True)),
        is_new=False,
    )


def _derive(parent: TaskSet, version: str, patch: TaskPatch, skip_missing: bool) -> PatchReport:
    entries = {entry.task: entry for entry in patch.entries}
    task_set = TaskSet.objects.create(
        name=parent.name,
        version=version,
        parent=parent,
        patch=patch.head.model_dump(mode="json"),
        patch_hash=patch.hash,
    )
    report, problems = PatchReport(task_set=str(task_set)), []
    for originals in _in_batches(parent):
        tasks, revisions = [], []
        for original in originals:
            entry = entries.pop(task_key(parent.name, original.external_id), None)
            try:
                task = _next_version(original, task_set, entry)
            except ChangeError as error:
                problems.append(f"task {original.external_id}: {error}")
                continue
            tasks.append(task)
            if entry is not None:
                revisions.append(_revision(task, entry))
                report.by_category[entry.category] += 1
        Task.objects.bulk_create(tasks, batch_size=BATCH)
        TaskRevision.objects.bulk_create(revisions, batch_size=BATCH)
        inherit_milestones(tasks)
        report.tasks += len(tasks)
        report.patched += len(revisions)
    report.left_out = list(entries)
    if entries and not skip_missing:
        problems.append(f"the set holds no task {', '.join(list(entries)[:SHOWN_PROBLEMS])}")
    if problems:
        raise TaskPatchError(_problems_text(f"the patch does not fit {parent}:", problems))
    return report


def _in_batches(task_set: TaskSet) -> Iterator[list[Task]]:
    """The set's tasks by rising key, so many at a time."""
    last = 0
    while batch := list(task_set.tasks.filter(pk__gt=last).order_by("pk")[:BATCH]):
        last = batch[-1].pk
        yield batch


def _next_version(original: Task, task_set: TaskSet, entry: PatchEntry | None) -> Task:
    """The task as it is in the next version, not stored yet. Raises ChangeError."""
    content = task_content(original)
    if entry is not None:
        content = checked_content(apply_changes(content, entry.changes))
    sites: list[str] = content["sites"]
    keeps_site = original.site in sites or not sites
    return Task(
        task_set=task_set,
        original=original,
        external_id=original.external_id,
        site=original.site if keeps_site else sites[0],
        sites=sites,
        goal=content["goal"],
        start_urls=content["start_urls"],
        intent_template=original.intent_template,
        template=original.template,
        spec=content["spec"],
        evaluation_kind=evaluation_kind(content["spec"]),
        reference=content["reference"],
        max_steps=original.max_steps,
        infeasible_reason=content["infeasible_reason"],
        record=_record(original, task_set, content),
    )


def _record(original: Task, task_set: TaskSet, content: Content) -> dict[str, Any]:
    """The record that the task goes out with: the original's, with the content of this one."""
    record = task_record(original)
    goal = record.goal
    if content["goal"] != original.goal:
        pictures = tuple(part for part in goal if not isinstance(part, TextPart))
        goal = (TextPart(text=content["goal"]), *pictures)
    changed = record.model_copy(
        update={
            "id": bounded_name(f"{task_set.name}@{task_set.version}:{original.external_id}"),
            "task_set": TaskSetRecord(name=task_set.name, version=task_set.version),
            "goal": goal,
            "sites": tuple(content["sites"]),
            "start_urls": tuple(content["start_urls"]),
            "eval": content["spec"],
            "reference": content["reference"],
            "infeasible_reason": content["infeasible_reason"] or None,
        }
    )
    return plain_json(changed)


def _revision(task: Task, entry: PatchEntry) -> TaskRevision:
    return TaskRevision(
        task=task,
        category=entry.category,
        why=entry.why,
        changes=[change.model_dump(mode="json", by_alias=True) for change in entry.changes],
    )


def _remove(patch: TaskPatch, version: str) -> PatchReport:
    task_set = TaskSet.objects.filter(name=patch.head.task_set, version=version).first()
    if task_set is None:
        raise TaskPatchError(f"there is no task set {patch.head.task_set} {version}")
    if task_set.patch_hash != patch.hash:
        raise TaskPatchError(f"{task_set} was not made by this patch")
    if child := task_set.children.first():
        raise TaskPatchError(f"{child} was made from {task_set}; take that back first")
    if users := _users(task_set):
        raise TaskPatchError(f"{task_set} is used by {', '.join(users)} and stays")
    report = PatchReport(task_set=str(task_set), tasks=task_set.tasks.count())
    revisions = TaskRevision.objects.filter(task__task_set=task_set)
    problems = []
    for revision in revisions.select_related("task__original").iterator(chunk_size=BATCH):
        report.patched += 1
        report.by_category[revision.category] += 1
        if not _restores(revision):
            problems.append(f"task {revision.task.external_id} differs from its original")
    if problems:
        raise TaskPatchError(_problems_text("taking the changes back does not restore:", problems))
    task_set.tasks.all().delete()
    task_set.delete()
    return report


def _restores(revision: TaskRevision) -> bool:
    original = revision.task.original
    if original is None:
        return False
    changes = _CHANGES.validate_python(revision.changes)
    restored = take_back_changes(task_content(revision.task), changes)
    return content_bytes(restored) == content_bytes(task_content(original))


def _users(task_set: TaskSet) -> list[str]:
    """What refers to the set's tasks, in words: runs, and whatever apps above keep."""
    users = []
    for relation in Task._meta.related_objects:
        model: Any = relation.related_model
        if model in (Task, TaskRevision):
            continue
        count = model._base_manager.filter(**{f"{relation.field.name}__task_set": task_set}).count()
        if count:
            users.append(f"{count} {model._meta.verbose_name_plural}")
    return users


def _problems_text(title: str, problems: list[str]) -> str:
    shown = [f"  {problem}" for problem in problems[:SHOWN_PROBLEMS]]
    more = len(problems) - SHOWN_PROBLEMS
    return "\n".join([title, *shown, *([f"  and {more} more"] if more > 0 else [])])
