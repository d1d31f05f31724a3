"""`manage.py export_labels STUDY OUT`: a study's labels and verdicts as a table."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from judging.portability.judgements.data_tables import JUDGEMENTS, everything_of
from judging.portability.management.commands.export_table import write_table
from judging.studies.management import study_named


class Command(BaseCommand):
    help = (
        "Write a study's labels and reference verdicts as .csv, .jsonl or .parquet. "
        "`import_labels` reads the first two."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="number or name")
        parser.add_argument("out", type=Path, metavar="OUT")

    def handle(self, *, study: str, out: Path, **_: Any) -> None:
        chosen = study_named(study)
        self.stdout.write(write_table(out, JUDGEMENTS, everything_of(chosen), chosen))
