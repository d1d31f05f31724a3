"""Look for loops and false completions in runs that are here already."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from runs.launching.anomalies import mark_anomalies
from runs.models import Run, RunStatus


class Command(BaseCommand):
    help = "Mark loops and false completions of stored runs on the timeline."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--experiment", help="only runs of this experiment")

    def handle(self, *args: Any, **options: Any) -> None:
        runs = Run.objects.filter(status__in=RunStatus.ended())
        if options["experiment"]:
            runs = runs.filter(experiment__name=options["experiment"])
        looked_at = marked = 0
        for run_id in runs.values_list("pk", flat=True).iterator():
            looked_at += 1
            marked += bool(mark_anomalies(run_ids=[run_id]))
        self.stdout.write(f"{looked_at} runs looked at, {marked} with anomalies.")
