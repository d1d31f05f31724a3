"""`manage.py export_study STUDY OUT`: the runs of a study with all that was said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from judging.management.arguments import study_named
from runs.management.progress import export_with_progress
from runs.models import Run
from runs.services.exporting import ExportFormat


class Command(BaseCommand):
    help = (
        "Export the runs of a study, with labels and verdicts, to a zip or (if OUT does not end"
        " in .zip) a folder, in the native format or as ATIF."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="number or name of the study")
        parser.add_argument("out", type=Path, metavar="OUT")
        parser.add_argument(
            "--format",
            choices=list(ExportFormat),
            default=ExportFormat.NATIVE,
            help="native (lossless, the default) or ATIF documents with their pictures",
        )
        parser.add_argument(
            "--blind", action="store_true", help="without references, rewards and verdicts"
        )
        parser.add_argument(
            "--hide-agent", action="store_true", help="blind, and without agent and model names"
        )

    def handle(self, *, study: str, out: Path, **options: Any) -> None:
        runs = Run.objects.filter(study_items__study=study_named(study))
        self.stdout.write(export_with_progress(out, runs, **options))
