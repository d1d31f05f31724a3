"""What commands share: bars on stderr, experiments by name, amounts, files, and a quiet Ctrl-C."""

import signal
from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from pathlib import Path

from django.core.management.base import CommandError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from runs.models import Experiment
from runs.models.parsing import read_number


def progress_bar(*, shown: bool = True) -> Progress:
    """A bar with count and time left, to be used by `with`."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not shown,
    )


NAMED = 5
"""So many experiments are named where one is not found."""


def experiment_named(name: str) -> Experiment:
    """The experiment of this name, or else of this number.

    Raises:
        CommandError: there is none; it names those that are newest.
    """
    found = Experiment.objects.filter(name=name).first()
    if found is None and (number := read_number(name)) is not None:
        found = Experiment.objects.filter(pk=number).first()
    if found is None:
        newest = Experiment.objects.order_by("-pk").values_list("name", flat=True)[:NAMED]
        there = f"; the newest are: {', '.join(newest)}" if newest else ", nor any other"
        raise CommandError(f"There is no experiment {name!r}{there}.")
    return found


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


@contextmanager
def file_errors(path: Path, verb: str) -> Iterator[None]:
    """Within it, that the file cannot be "read" or "written" ends the command, which says why."""
    try:
        yield
    except OSError as error:
        raise CommandError(f"{path} cannot be {verb}: {error.strerror}") from None


def write_files(out: Path, files: Mapping[Path, str]) -> int:
    """Write the texts into the folder, and say how many they are.

    Raises:
        CommandError: a file cannot be written.
    """
    for path, text in files.items():
        target = out / path
        with file_errors(target, "written"):
            target.parent.mkdir(parents=True, exist_ok=True)
            # CSV brings its own line ends.
            target.write_text(text, encoding="utf-8", newline="")
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
