"""`manage.py export_study NAME OUT`: the runs of a study with all that was said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.models import Study
from runs.management.progress import export_with_progress
from runs.models import Run


class Command(BaseCommand):
    help = (
        "Export the runs of a study, with labels and verdicts, to a zip or (if OUT does not end"
        " in .zip) a folder in the native format."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("out", type=Path, metavar="OUT")
        parser.add_argument(
            "--blind", action="store_true", help="without references, rewards and verdicts"
        )
        parser.add_argument(
            "--hide-agent", action="store_true", help="blind, and without agent and model names"
        )

    def handle(self, *, name: str, out: Path, **options: Any) -> None:
        study = Study.objects.filter(name=name).first()
        if study is None:
            raise CommandError(f"there is no study {name!r}")
        runs = Run.objects.filter(study_items__study=study)
        self.stdout.write(export_with_progress(out, runs, **options))
