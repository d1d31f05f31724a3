"""What commands share: bars on stderr, so that stdout stays clean; experiments by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from runs.models import Experiment
from runs.models.parsing import read_number


@contextmanager
def progress_bar(*, shown: bool = True) -> Iterator[Progress]:
    """A bar with count and time left."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not shown,
    ) as progress:
        yield progress


def experiment_named(name: str) -> Experiment:
    """The experiment of this name, or else of this number.

    Raises:
        CommandError: there is none.
    """
    found = Experiment.objects.filter(name=name).first()
    if found is None and (number := read_number(name)) is not None:
        found = Experiment.objects.filter(pk=number).first()
    if found is None:
        raise CommandError(f"There is no experiment {name!r}.")
    return found
