"""`manage.py audit_task_patch FILE`: hold a task patch against the matchers."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging.evaluators.matching.task_data.auditing import EntryAudit, audit_entry
from runs.catalogue.patches.changes import ChangeError, apply_changes
from runs.catalogue.patches.files import PatchFileError, TaskPatch, patch_path
from runs.catalogue.patches.files import read_patch as read
from runs.catalogue.tasks.rows import task_content
from runs.models import TaskSet
from runs.models.tasks import task_key


class Command(BaseCommand):
    help = (
        "Judge outcomes made of each task's specification before and after a patch: what is right "
        "must pass, what differs from it must not. Changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="as for apply_task_patch")
        parser.add_argument(
            "--from", dest="version", metavar="VERSION", help="version to audit it on; the file's"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            patch = read(patch_path(options["file"]))
        except PatchFileError as error:
            raise CommandError(str(error)) from None
        version = options["version"] or patch.head.from_version
        task_set = TaskSet.objects.filter(name=patch.head.task_set, version=version).first()
        if task_set is None:
            raise CommandError(f"there is no task set {patch.head.task_set} {version}")
        audits = list(_audits(patch, task_set))
        outcomes = sum(audit.outcomes for audit in audits)
        self.stdout.write(f"{len(audits)} entries, {outcomes} outcomes judged by both matchers")
        newly = [audit.task for audit in audits if audit.newly_right]
        self.stdout.write(f"    {len(newly):>5}  pass a right outcome that failed before")
        loosened = [audit for audit in audits if audit.loosened]
        self.stdout.write(f"    {len(loosened):>5}  pass what was wrong before")
        for audit in loosened:
            self.stdout.write(f"           {audit.task}: {audit.loosened[0]}")
        problems = [f"  {audit.task}: {each}" for audit in audits for each in audit.problems]
        if problems:
            raise CommandError("\n".join(["the patch has problems:", *problems]))
        self.stdout.write("No wrong outcome passes, and no answer is given away.")


def _audits(patch: TaskPatch, task_set: TaskSet) -> Iterator[EntryAudit]:
    name = task_set.name
    tasks = {task_key(name, task.external_id): task for task in task_set.tasks.iterator()}
    for entry in patch.entries:
        task = tasks.get(task_key(name, entry.task))
        if task is None:
            yield EntryAudit(task=entry.task, problems=["the set holds no such task"])
            continue
        before = task_content(task)
        try:
            after = apply_changes(before, entry.changes)
        except ChangeError as error:
            yield EntryAudit(task=entry.task, problems=[str(error)])
            continue
        yield audit_entry(entry.task, before, after)
