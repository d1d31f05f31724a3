"""`manage.py export_table NAME OUT`: judgements of a study or an experiment as data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.models import Study
from judging.portability.judgements.data_tables import (
    DATA_TABLES,
    everything_of,
    run_contents,
)
from judging.portability.management.tables import write_table
from judging.studies.management.arguments import study_named
from runs.interface.terminal import experiment_named


class Command(BaseCommand):
    help = (
        "Write one table of a study or experiment as .csv, .jsonl or .parquet. Columns: "
        "docs/reference_tables.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("table", metavar="TABLE", choices=list(DATA_TABLES))
        parser.add_argument("out", type=Path, metavar="OUT")
        chosen = parser.add_mutually_exclusive_group(required=True)
        chosen.add_argument("--study", help="number or name")
        chosen.add_argument("--experiment", metavar="NAME")

    def handle(
        self, *, table: str, out: Path, study: str | None, experiment: str | None, **_: Any
    ) -> None:
        chosen = DATA_TABLES[table]
        if experiment is not None and chosen.of_study:
            raise CommandError(f"{table} is a table of studies: give --study")
        of = study_named(study) if study else experiment_named(experiment or "")
        contents = everything_of(of) if isinstance(of, Study) else run_contents(of.runs.all())
        self.stdout.write(write_table(out, chosen, contents, of))
