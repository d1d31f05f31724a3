"""`manage.py export_runs OUT`: write runs in the native format or as ATIF."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.exports.services import ExportFormat
from runs.management.progress import export_with_progress
from runs.models import Experiment, Run, RunStatus


class Command(BaseCommand):
    help = (
        "Write runs with their labels and verdicts to a .zip or a folder. All ended runs, "
        "unless some are chosen."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("out", type=Path, metavar="OUT")
        parser.add_argument(
            "--format",
            choices=list(ExportFormat),
            default=ExportFormat.NATIVE,
            help="default native",
        )
        parser.add_argument("--experiment")
        parser.add_argument("--run", nargs="+", type=UUID, metavar="ID")
        parser.add_argument(
            "--blind", action="store_true", help="without references, rewards, verdicts"
        )
        parser.add_argument(
            "--hide-agent", action="store_true", help="also without agents and models"
        )

    def handle(
        self,
        *,
        out: Path,
        experiment: str | None,
        run: list[UUID] | None,
        **options: Any,
    ) -> None:
        runs = Run.objects.filter(status__in=RunStatus.ended())
        if experiment:
            if not Experiment.objects.filter(name=experiment).exists():
                raise CommandError(f"there is no experiment {experiment!r}")
            runs = runs.filter(experiment__name=experiment)
        if run:
            runs = runs.filter(pk__in=run)
            missing = set(run) - set(runs.values_list("pk", flat=True))
            if missing:
                raise CommandError(f"no ended run has the id {', '.join(map(str, missing))}")
        self.stdout.write(export_with_progress(out, runs, **options))
