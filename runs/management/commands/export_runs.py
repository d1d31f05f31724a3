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
        "Export runs, with everything said of them, to a zip or (if OUT does not end in .zip) a"
        " folder, natively or as ATIF. All runs that have ended, unless some are chosen."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("out", type=Path, metavar="OUT")
        parser.add_argument(
            "--format",
            choices=list(ExportFormat),
            default=ExportFormat.NATIVE,
            help="native (lossless, the default) or ATIF documents with their pictures",
        )
        parser.add_argument("--experiment", help="only runs of this experiment")
        parser.add_argument("--run", nargs="+", type=UUID, metavar="ID", help="only these runs")
        parser.add_argument(
            "--blind", action="store_true", help="without references, rewards and verdicts"
        )
        parser.add_argument(
            "--hide-agent", action="store_true", help="blind, and without agent and model names"
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
