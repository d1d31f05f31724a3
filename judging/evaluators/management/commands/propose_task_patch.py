"""`manage.py propose_task_patch SET VERSION`: a patch that states what instructions leave open."""

from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging.evaluators.matching.task_data.ambiguity import (
    Ambiguity,
    AskedTask,
    find_ambiguities,
    sentence,
)
from runs.catalogue.patches.changes import Append, text_guard
from runs.catalogue.patches.files import PatchEntry, PatchHead, TaskPatch, patch_text
from runs.models import Task, TaskRevision, TaskSet


class Command(BaseCommand):
    help = (
        "Write a task patch that states the form of answers where the published matcher rejects "
        "other spellings of a right one. Read it before you apply it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("task_set", metavar="SET")
        parser.add_argument("version", metavar="VERSION")
        parser.add_argument("--to", required=True, metavar="VERSION", help="version that it makes")
        parser.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")
        parser.add_argument(
            "--except",
            dest="left_out",
            default="",
            metavar="TASKS",
            help="ids of tasks to leave out, with commas",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        task_set = TaskSet.objects.filter(
            name=options["task_set"], version=options["version"]
        ).first()
        if task_set is None:
            raise CommandError(f"there is no task set {options['task_set']} {options['version']}")
        if options["to"] == task_set.version:
            raise CommandError("--to must be another version")
        left_out = {name.strip() for name in options["left_out"].split(",")}
        tasks = _unrepaired(task_set, left_out)
        found = find_ambiguities(map(_asked, tasks.values()))
        if not found:
            raise CommandError("nothing was found that a patch could state")
        text = patch_text(_patch(task_set, options["to"], tasks, found))
        if options["out"] is None:
            self.stdout.write(text, ending="")
            return
        options["out"].write_text(text, encoding="utf-8")
        self.stdout.write(f"{options['out']}: {len(found)} of {task_set.tasks.count()} tasks")
        for rule, count in Counter(each.rule for each in found).most_common():
            self.stdout.write(f"    {count:>5}  {rule}")


def _unrepaired(task_set: TaskSet, left_out: set[str]) -> dict[str, Task]:
    """The set's tasks by id, without those that a patch has changed or that cannot be done."""
    tasks = task_set.tasks.filter(infeasible_reason="").exclude(external_id__in=left_out)
    repaired = TaskRevision.objects.filter(task__task_set=task_set).values("task")
    return {task.external_id: task for task in tasks.exclude(pk__in=repaired).in_order()}


def _asked(task: Task) -> AskedTask:
    return AskedTask(
        id=task.external_id,
        goal=task.goal,
        spec=task.spec,
        group=task.template or task.intent_template,
    )


def _patch(
    task_set: TaskSet, version: str, tasks: dict[str, Task], found: list[Ambiguity]
) -> TaskPatch:
    return TaskPatch(
        format="crosscheck-task-patch",
        format_version=1,
        head=PatchHead(
            name=f"{task_set.name}-{version}",
            version="1",
            task_set=task_set.name,
            from_version=task_set.version,
            to_version=version,
            author="Crosscheck",
            licence="Apache-2.0",
            about="Proposed by manage.py propose_task_patch; not reviewed.",
        ),
        entries=tuple(_entry(tasks[each.task], each) for each in found),
    )


def _entry(task: Task, found: Ambiguity) -> PatchEntry:
    change = Append(
        op="append",
        path="/goal",
        guard=text_guard(task.goal),
        text=sentence(task.goal, found.words),
    )
    category = TaskRevision.Category.OUTPUT_FORMAT
    return PatchEntry(task=task.external_id, category=category, why=found.why, changes=(change,))
