"""`manage.py import_milestones FILE`: give tasks the milestones that a file names."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from runs.catalogue.management.commands.import_tasks import TaskSetCommand
from runs.catalogue.milestones.definitions import MilestoneFileError, read_file
from runs.catalogue.milestones.services import UnknownTasksError, import_milestones
from runs.interface.terminal import file_errors
from runs.models import Task, TaskSet


class Command(TaskSetCommand):
    help = "Replace the milestones of the tasks that the file names. All or nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument(
            "--version", dest="set_version", metavar="VERSION", help="default: the file's"
        )

    def handle(self, *, file: Path, set_version: str | None, **_: Any) -> None:
        try:
            with file_errors(file, "read"):
                read = read_file(file.read_bytes())
        except MilestoneFileError as error:
            raise CommandError(f"{file}: {error}") from None
        name, version = read.task_set.name, set_version or read.task_set.version
        task_set = TaskSet.objects.filter(name=name, version=version).first()
        if task_set is None:
            raise CommandError(f"there is no task set {name} {version}")
        try:
            stored = import_milestones(file=read, tasks=Task.objects.filter(task_set=task_set))
        except UnknownTasksError as error:
            raise CommandError(f"{task_set} does not hold these tasks: {error}") from None
        self.stdout.write(
            f"{task_set}: tasks with other milestones now: {stored.changed}, with the same:"
            f" {stored.same}."
        )
