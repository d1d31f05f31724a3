"""`manage.py back_up FOLDER`: all rows and files into a folder, while everybody works on."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.interface.terminal import progress_bar
from runs.models import Blob
from runs.operations.backups import back_up
from runs.operations.database_dumps import BackupError


class Command(BaseCommand):
    help = (
        "Add a snapshot of all rows to FOLDER, and the files that it lacks, while everything "
        "runs. Secrets and uploads that wait for their import are left out."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--keep", type=int, help="snapshots to keep")

    def handle(self, *, folder: Path, keep: int | None, **_: Any) -> None:
        if keep is not None and keep < 1:
            raise CommandError("--keep must be at least 1")
        try:
            with progress_bar(shown=sys.stderr.isatty()) as progress:
                bar = progress.add_task("files", total=Blob.objects.count())
                made = back_up(
                    folder,
                    keep=keep,
                    tell=lambda what, n: progress.update(bar, description=what, advance=n),
                )
        except BackupError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{made.name}: {sum(made.rows.values())} rows, {made.n_new_files} new files"
            f" ({made.new_bytes / 1e6:.1f} MB), {made.seconds} s"
        )
