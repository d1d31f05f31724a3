"""`manage.py run_controls`: agents that solve nothing, on a task set or an experiment's tasks."""

from argparse import ArgumentParser
from typing import Any
from uuid import uuid4

from django.core.management.base import BaseCommand, CommandError
from django.db.models import QuerySet

from judging.analysis.experiments.controls import launch_controls
from runs.interface.terminal import experiment_named
from runs.launching.experiments.selection import PlanError
from runs.models import Task, TaskSet


class Command(BaseCommand):
    help = "Queue the control agents (do nothing, always N/A, list everything), one trial a task."

    def add_arguments(self, parser: ArgumentParser) -> None:
        where = parser.add_mutually_exclusive_group(required=True)
        where.add_argument("--task-set", metavar="NAME", help="such as miniwob, or a number")
        where.add_argument("--experiment", metavar="NAME", help="its tasks")
        parser.add_argument("--name", help="of the new experiment")
        parser.add_argument("--limit", type=int, help="maximum number of tasks")

    def handle(self, **options: Any) -> None:
        tasks, of = _tasks(options["task_set"], options["experiment"])
        chosen = tasks.select_related("task_set").in_order()[: options["limit"]]
        try:
            launched = launch_controls(
                name=options["name"] or f"{of}, controls", tasks=chosen, token=uuid4(), user=None
            )
        except PlanError as error:
            raise CommandError(str(error)) from None
        runs = launched.experiment.runs.count()
        self.stdout.write(f"{launched.experiment}: {runs} runs queued")


def _tasks(task_set: str | None, experiment: str | None) -> tuple[Any, str]:
    """The tasks, and what they are of."""
    every: QuerySet[Task] = Task.objects.all()
    if experiment is not None:
        found = experiment_named(experiment)
        return every.filter(pk__in=found.runs.values("task")), found.name
    sets = TaskSet.objects.filter(name=task_set) or TaskSet.objects.filter(
        pk=int(task_set) if task_set and task_set.isdecimal() else 0
    )
    newest = sets.order_by("created_at", "pk").last()
    if newest is None:
        raise CommandError(f"there is no task set {task_set}")
    return every.filter(task_set=newest), str(newest)
