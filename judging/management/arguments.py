"""What commands take: studies, amounts, numbers of runs; and the files that they write."""

from __future__ import annotations

import signal
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path

from django.core.management.base import CommandError

from judging.analysis.experiments.sources import Source, source_named
from judging.models import Study
from judging.portability.judgements.data_tables import Contents, DataTable
from judging.portability.judgements.table_writing import DATA_FORMATS
from judging.studies.access import STUDY_EXPORTED
from runs.accounts.audit_log import record_entry
from runs.models import Experiment
from runs.models.audit_log import RUNS_EXPORTED
from runs.models.parsing import read_number


def study_named(named: str) -> Study:
    """The study of that number, or else of that name.

    Raises:
        CommandError: there is none.
    """
    number = read_number(named)
    by_number = None if number is None else Study.objects.filter(pk=number).first()
    study = by_number or Study.objects.filter(name=named).first()
    if study is None:
        raise CommandError(f"there is no study {named}")
    return study


def verdict_source(named: str) -> Source:
    """The source of verdicts of that name.

    Raises:
        CommandError: there is none.
    """
    try:
        return source_named(named)
    except ValueError as error:
        raise CommandError(str(error)) from error


def dollars(text: str) -> Decimal:
    """A limit of spending, as `5`, `0.25` or `$5`.

    Raises:
        ArgumentTypeError: it is no amount above 0.
    """
    try:
        amount = Decimal(text.removeprefix("$"))
    except InvalidOperation as error:
        raise ArgumentTypeError(f"{text} is no amount of dollars") from error
    if not amount.is_finite() or amount <= 0:
        raise ArgumentTypeError("an amount of dollars must be more than 0")
    return amount


def at_most(text: str) -> int:
    """How many runs at most.

    Raises:
        ArgumentTypeError: it is no number of 1 or more.
    """
    number = read_number(text)
    if not number:
        raise ArgumentTypeError(f"{text} is no number of runs; it must be 1 or more")
    return number


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


def write_files(out: Path, files: Mapping[Path, str]) -> int:
    """Write the texts into the folder, and say how many they are.

    Raises:
        CommandError: a file cannot be written.
    """
    for path, text in files.items():
        target = out / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # CSV brings its own line ends.
            target.write_text(text, encoding="utf-8", newline="")
        except OSError as error:
            raise CommandError(f"{target} cannot be written: {error.strerror}") from error
    return len(files)


@contextmanager
def interruptible() -> Iterator[list[int]]:
    """A list that is no longer empty after a Ctrl-C. The second Ctrl-C interrupts as usual."""
    signals: list[int] = []

    def note(number: int, _frame: object) -> None:
        signals.append(number)
        signal.signal(signal.SIGINT, before)

    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, note)
    except ValueError:  # not in the main thread, where no Ctrl-C arrives
        yield signals
        return
    try:
        yield signals
    finally:
        signal.signal(signal.SIGINT, before)
