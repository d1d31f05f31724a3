"""`manage.py export_labels STUDY OUT`: a study's labels and verdicts as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.interchange.label_tables import WRITERS, rows_of
from judging.management.arguments import study_named


class Command(BaseCommand):
    help = (
        "Write a study's labels and reference verdicts as CSV or JSON Lines, by the ending of"
        " OUT: .csv or .jsonl. `import_labels` reads both."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="number or name of the study")
        parser.add_argument("out", type=Path, metavar="OUT")

    def handle(self, *, study: str, out: Path, **_: Any) -> None:
        write = WRITERS.get(out.suffix)
        if write is None:
            raise CommandError(f"{out} must end in one of {', '.join(WRITERS)}")
        try:
            with out.open("x", encoding="utf-8", newline="") as file:
                count = write(file, rows_of(study_named(study)))
        except OSError as error:
            raise CommandError(f"{out} cannot be written: {error.strerror}") from None
        self.stdout.write(f"{out}: {count} rows.")
