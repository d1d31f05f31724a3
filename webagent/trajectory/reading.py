"""The way in: open what was given, find out what it is, and read it run by run.

A new format is a package with one `Reader`, and one line in `READERS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol, Self

from webagent.trajectory.agentlab.reader import AgentLabReader
from webagent.trajectory.bounds import BoundError, Bounds
from webagent.trajectory.bundles import BlobError, Problem, Rejection, RunBundle
from webagent.trajectory.checking import why_refused
from webagent.trajectory.native.reader import NativeReader
from webagent.trajectory.opening import open_tree
from webagent.trajectory.trees import Tree, TreeError

__all__ = [
    "READERS",
    "BlobError",
    "Bounds",
    "Found",
    "Problem",
    "Reader",
    "Rejection",
    "RunBundle",
    "RunSource",
    "format_names",
    "open_runs",
]

AUTO = "auto"

Found = RunBundle | Problem
"""A run; the `Rejection` of one; or a `Problem` that belongs to no single run."""


class Reader(Protocol):
    """Reads one format."""

    name: str
    """Short word for `--format` and for `source.format`."""

    def count(self, tree: Tree, bounds: Bounds) -> int:
        """How many runs seem to be in there, judged by content; 0: not this format."""

    def read(self, tree: Tree, bounds: Bounds) -> Iterator[Found]:
        """Each run in turn. Never raises over what a file holds."""


READERS: tuple[Reader, ...] = (NativeReader(), AgentLabReader())


def format_names() -> list[str]:
    """The names that `open_runs` takes."""
    return [AUTO, *(reader.name for reader in READERS)]


def open_runs(
    given: Path | BinaryIO,
    *,
    format: str = AUTO,
    bounds: Bounds | None = None,
    label: str | None = None,
) -> RunSource:
    """Open a folder or a zip; its runs are read when the result is iterated.

    Never raises over what is in there: an input that cannot be read gives one `Rejection`.

    Args:
        given: a folder, a zip file, or an open, seekable zip.
        format: one of `format_names()`; `auto` takes every format that is recognised.
        label: what to call the input in reports; the file's name by default.

    Raises:
        ValueError: there is no such format.
    """
    if format not in format_names():
        raise ValueError(f"unknown format {format!r}: one of {', '.join(format_names())}")
    bounds = bounds or Bounds()
    shown = label or (given.name if isinstance(given, Path) else "upload")
    try:
        tree = open_tree(given, bounds, label)
    except (BoundError, TreeError, OSError) as error:
        return RunSource(None, (), 0, bounds, Rejection(shown, shown, "", str(error)))
    wanted = [reader for reader in READERS if format in (AUTO, reader.name)]
    counts = {reader: reader.count(tree, bounds) for reader in wanted}
    readers = tuple(reader for reader, count in counts.items() if count)
    total = sum(counts.values())
    refused = None
    if not readers:
        reason = "no run of a known format in it" if format == AUTO else f"no {format} run in it"
        refused = Rejection(shown, shown, "format", reason)
    elif total > bounds.runs:
        readers, refused = (), Rejection(shown, shown, "runs", f"more than {bounds.runs} runs")
    return RunSource(tree, readers, total, bounds, refused)


class RunSource:
    """Runs waiting to be read. Iterate once, inside `with`."""

    def __init__(
        self,
        tree: Tree | None,
        readers: tuple[Reader, ...],
        total: int,
        bounds: Bounds,
        refused: Rejection | None,
    ) -> None:
        self._tree = tree
        self._readers = readers
        self._bounds = bounds
        self._refused = refused
        self.total = total
        """Runs to expect, for a progress bar; damaged files may hold fewer."""

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats that were recognised."""
        return tuple(reader.name for reader in self._readers)

    def __iter__(self) -> Iterator[Found]:
        if self._tree is not None:
            yield from self._tree.problems
        if self._refused is not None:
            yield self._refused
        for reader in self._readers:
            for found in reader.read(self._tree, self._bounds) if self._tree else ():
                if isinstance(found, RunBundle):
                    yield why_refused(found, self._bounds) or found
                else:
                    yield found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._tree is not None:
            self._tree.close()
