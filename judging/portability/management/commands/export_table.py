"""`manage.py export_table NAME OUT`: judgements of a study or an experiment as data."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from judging.models import Study
from judging.portability.judgements.data_tables import (
    DATA_FORMATS,
    DATA_TABLES,
    Contents,
    DataTable,
    everything_of,
    run_contents,
)
from judging.studies.access import STUDY_EXPORTED
from judging.studies.management import study_named
from runs.accounts.audit_log import record_entry
from runs.interface.terminal import experiment_named, file_errors
from runs.models import Experiment
from runs.models.audit_log import RUNS_EXPORTED


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


def write_table(out: Path, table: DataTable, contents: Contents, of: Study | Experiment) -> str:
    """Write the table to a new file, as its ending says, and note it; what was done, in words.

    Raises:
        CommandError: the ending is not known, or the file cannot be made.
    """
    ending = out.suffix.removeprefix(".")
    if ending not in DATA_FORMATS:
        endings = ", ".join(f".{each}" for each in DATA_FORMATS)
        raise CommandError(f"{out} must end in one of {endings}")
    with file_errors(out, "written"), out.open("xb") as file:
        count = DATA_FORMATS[ending].write(file, table.columns, table.rows(contents))
    kind = STUDY_EXPORTED if isinstance(of, Study) else RUNS_EXPORTED
    record_entry(kind, about=of, words=of.name, after=f"{table.name}, {ending}")
    return f"{out}: {count} rows."
