"""`manage.py restore_backup FOLDER`: everything as a backup holds it."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.operations.backups import restore
from runs.operations.database_dumps import BackupError


class Command(BaseCommand):
    help = (
        "Restore the newest snapshot and apply newer migrations. Stop web server and workers "
        "before; what came since is lost. Then run `check_integrity --hashes`."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--snapshot", help="such as 20261121T230000.123456Z")
        parser.add_argument("--overwrite", action="store_true", help="even a filled database")

    def handle(self, *, folder: Path, snapshot: str | None, overwrite: bool, **_: Any) -> None:
        try:
            put_back = restore(folder, name=snapshot, overwrite=overwrite)
        except BackupError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{put_back.name}: {sum(put_back.rows.values())} rows are back.")
