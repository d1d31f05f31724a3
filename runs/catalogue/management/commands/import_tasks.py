"""`manage.py import_tasks FILE --set NAME --version VERSION`: bring a benchmark's tasks in."""

from collections import Counter
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Count

from runs.catalogue.tasks.files import TaskFileError, read_task_file
from runs.catalogue.tasks.rows import TaskSetError, TaskSetReport, import_tasks
from runs.models import Task
from webagent.trajectory.records import TaskSetRecord


class TaskSetCommand(BaseCommand):
    """A command whose `--version` is that of a task set."""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        # Django's own --version would be in the way of the task set's.
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)


class Command(TaskSetCommand):
    help = (
        "Import WebArena's task file or WebArena-Verified's dataset. All tasks are stored or none."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--set", dest="name", default="webarena", metavar="NAME")
        parser.add_argument("--version", dest="set_version", default="raw", metavar="VERSION")

    def handle(self, *, file: Path, name: str, set_version: str, **_: Any) -> None:
        task_set = _task_set(name, set_version)
        records = read_task_file(file, task_set=task_set)
        try:
            report = import_tasks(records=records, task_set=task_set, hosts=settings.SITE_HOSTS)
        except (TaskFileError, TaskSetError) as error:
            raise CommandError(str(error)) from None
        self._print(report, f"{name} {set_version}")
        self._hint(name)

    def _print(self, report: TaskSetReport, task_set: str) -> None:
        self.stdout.write(
            f"{task_set}: {report.total} tasks. New: {report.new}. Filled in, known from runs"
            f" alone before: {report.filled}. Already there: {report.already_there}."
        )
        self._count("by site", report.by_site)
        self._count("by evaluation", report.by_kind)

    def _count(self, title: str, counts: Counter[str]) -> None:
        self.stdout.write(f"  {title}")
        for name, count in counts.most_common():
            self.stdout.write(f"    {count:>5}  {name}")

    def _hint(self, name: str) -> None:
        """Say which versions of the set have runs on tasks that nothing is known of."""
        unknown = (
            Task.objects.filter(task_set__name=name, spec__isnull=True, runs__isnull=False)
            .values_list("task_set__version")
            .annotate(n=Count("pk", distinct=True))
            .order_by("task_set__version")
        )
        for version, count in unknown:
            self.stdout.write(
                self.style.WARNING(
                    f"  {count} tasks of {name} {version} came with runs, without a"
                    f" specification; import the file with --version {version} too"
                )
            )


def _task_set(name: str, version: str) -> TaskSetRecord:
    for option, value in (("--set", name), ("--version", version)):
        if not value.strip() or len(value) > 200:
            raise CommandError(f"{option} must have 1 to 200 characters")
    return TaskSetRecord(name=name, version=version)
