"""The way in: open what was given, find out what it is, and read it run by run.

A format is a folder (or file) with one `Reader`, and one line in `READERS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from webagent.trajectory.agentlab.reader import AgentLabReader
from webagent.trajectory.bounds import BoundError, Bounds
from webagent.trajectory.bundles import Problem, Rejection, RunBundle
from webagent.trajectory.native.reader import NativeReader
from webagent.trajectory.opening import RefusedInputError, open_tree
from webagent.trajectory.trees import Tree

__all__ = ["READERS", "Bounds", "Found", "Problem", "Reader", "Rejection", "RunBundle", "read_runs"]

Found = RunBundle | Problem
"""A run, a `Rejection` of one, or a `Problem` that concerns no single run."""


class Reader(Protocol):
    """Reads one format."""

    name: str
    """Short word for `--format` and for `source.format`."""

    def count(self, tree: Tree, bounds: Bounds) -> int:
        """How many runs are in there, by content and not by file name ending; 0 if none."""

    def read(self, tree: Tree, bounds: Bounds) -> Iterator[Found]:
        """Each run in turn. Never raises over the content of a single run."""


READERS: tuple[Reader, ...] = (NativeReader(), AgentLabReader())


class UnknownFormatError(ValueError):
    """No reader of that name."""


def format_names() -> list[str]:
    """The names that `read_runs` takes, `auto` first."""
    return ["auto", *(reader.name for reader in READERS)]


def read_runs(
    given: Path | BinaryIO,
    *,
    format: str = "auto",
    bounds: Bounds = Bounds(),
    label: str | None = None,
) -> RunSource:
    """Open a folder or a zip for reading; nothing of its runs is read yet.

    Args:
        given: a folder, a zip file, or an open, seekable zip.
        format: a name from `format_names()`; `auto` takes every format that is recognised.
        label: what to call the input in reports; the file's name by default.

    Raises:
        UnknownFormatError: there is no such format.
    """
