"""A table that a command writes to a new file."""

from pathlib import Path

from django.core.management.base import CommandError

from judging.models import Study
from judging.portability.judgements.data_tables import Contents, DataTable
from judging.portability.judgements.table_writing import DATA_FORMATS
from judging.studies.access import STUDY_EXPORTED
from runs.accounts.audit_log import record_entry
from runs.models import Experiment
from runs.models.audit_log import RUNS_EXPORTED


def write_table(out: Path, table: DataTable, contents: Contents, of: Study | Experiment) -> str:
    """Write the table to a new file, as its ending says, and note it; what was done, in words.

    Raises:
        CommandError: the ending is not known, or the file cannot be made.
    """
    ending = out.suffix.removeprefix(".")
    if ending not in DATA_FORMATS:
        endings = ", ".join(f".{each}" for each in DATA_FORMATS)
        raise CommandError(f"{out} must end in one of {endings}")
    try:
        with out.open("xb") as file:
            count = DATA_FORMATS[ending].write(file, table.columns, table.rows(contents))
    except OSError as error:
        raise CommandError(f"{out} cannot be written: {error.strerror}") from None
    kind = STUDY_EXPORTED if isinstance(of, Study) else RUNS_EXPORTED
    record_entry(kind, about=of, words=of.name, after=f"{table.name}, {ending}")
    return f"{out}: {count} rows."
