"""Look for loops and false completions in runs that are here already."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from runs.launching.anomalies import loops_by_actions, mark_anomalies
from runs.models import Event, Run, RunStatus


class Command(BaseCommand):
    help = "Mark loops and false completions of stored runs on the timeline."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--experiment", help="only runs of this experiment")

    def handle(self, *args: Any, **options: Any) -> None:
        runs = Run.objects.filter(status__in=RunStatus.ended())
        if options["experiment"]:
            runs = runs.filter(experiment__name=options["experiment"])
        looked_at = marked = by_actions = with_loops = 0
        for run_id in runs.values_list("pk", flat=True).iterator():
            looked_at += 1
            marked += bool(mark_anomalies(run_ids=[run_id]))
            with_loops += Event.objects.filter(run=run_id, kind=Event.Kind.LOOP).exists()
            by_actions += loops_by_actions(run_id)
        self.stdout.write(f"{looked_at} runs looked at, {marked} with anomalies.")
        self.stdout.write(
            f"With a marked loop: {with_loops}. With a loop by actions alone: {by_actions}."
        )
