"""`manage.py export_milestones --set NAME --version VERSION`: milestones of a task set as JSON."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from runs.catalogue.management.commands.import_tasks import TaskSetCommand
from runs.catalogue.milestones.definitions import milestone_file, written_file
from runs.interface.terminal import file_errors
from runs.models import Task, TaskSet


class Command(TaskSetCommand):
    help = "Write the milestones of a task set as `import_milestones` reads them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--set", dest="name", required=True, metavar="NAME")
        parser.add_argument("--version", dest="set_version", required=True, metavar="VERSION")
        parser.add_argument("--output", type=Path, metavar="FILE")

    def handle(self, *, name: str, set_version: str, output: Path | None, **_: Any) -> None:
        task_set = TaskSet.objects.filter(name=name, version=set_version).first()
        if task_set is None:
            raise CommandError(f"there is no task set {name} {set_version}")
        tasks = Task.objects.filter(task_set=task_set).prefetch_related("milestones").in_order()
        text = written_file(milestone_file(name, set_version, tasks))
        if output is None:
            self.stdout.write(text, ending="")
            return
        with file_errors(output, "written"):
            output.write_text(text)
