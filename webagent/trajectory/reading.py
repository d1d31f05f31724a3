"""The way in: open what was given, find out what it is, and read it run by run.

A new format is a package with one `Reader`, and one line in `READERS`. Several formats may lie
in one upload; a file that two of them take for their own is refused, with both names. A run that
no database and no page could hold is refused here, whatever format it is of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, Self

from webagent.trajectory.bundles import RunBundle, blobs_of
from webagent.trajectory.files.opening import CutZipTree, open_tree, why_unreadable
from webagent.trajectory.files.recognition import Answers, HidingTree, Question, Recognition, clash
from webagent.trajectory.files.trees import NamedFiles, Tree, TreeError
from webagent.trajectory.formats.agentlab.reader import AgentLabReader
from webagent.trajectory.formats.agentrewardbench.reader import QUESTION as ALONE_QUESTION
from webagent.trajectory.formats.agentrewardbench.reader import AgentRewardBenchReader
from webagent.trajectory.formats.atif.reader import ATIF
from webagent.trajectory.formats.browser_use.reader import BROWSER_USE
from webagent.trajectory.formats.computer_use.reader import COMPUTER_USE
from webagent.trajectory.formats.inspect_ai.reader import InspectReader
from webagent.trajectory.formats.native.reader import NativeReader
from webagent.trajectory.formats.online_mind2web.reader import ONLINE_MIND2WEB
from webagent.trajectory.formats.online_mind2web.verdicts import QUESTION as LABEL_QUESTION
from webagent.trajectory.formats.playwright.reader import PLAYWRIGHT
from webagent.trajectory.formats.webarena.reader import WebArenaReader
from webagent.trajectory.formats.webarena_verified.reader import WEBARENA_VERIFIED
from webagent.trajectory.formats.webvoyager import WEBVOYAGER
from webagent.trajectory.formats.wonderbread import WONDERBREAD
from webagent.trajectory.intake import CUT_SHORT, BoundError, Bounds, Problem, Rejection
from webagent.trajectory.records import BlobRecord, Record
from webagent.trajectory.texts import NAME_CHARS, UNSTORABLE

_INT32 = 2**31 - 1
_INT64 = 2**63 - 1
_MEDIA_TYPE = re.compile(r"^[\w.+-]{1,40}/[\w.+-]{1,60}$", re.ASCII)
_ROLE = re.compile(r"^[a-z0-9_]{1,40}$")


def why_refused(bundle: RunBundle, bounds: Bounds) -> Rejection | None:
    """Why a run that was read cannot be taken; None if it can."""
    faults = (Rejection(bundle.source, bundle.source, *fault) for fault in _faults(bundle, bounds))
    return next(faults, None)


def _faults(bundle: RunBundle, bounds: Bounds) -> Iterator[tuple[str, str]]:
    run, task = bundle.run, bundle.task
    if len(bundle.steps) > bounds.steps_per_run:
        yield "steps", f"more than {bounds.steps_per_run} steps"
    if run.task_id != task.id:
        yield "run.task_id", "not the id of its task"
    names = {
        "task.task_set.name": task.task_set.name,
        "task.task_set.version": task.task_set.version,
        "run.agent.name": run.agent.name,
        "run.agent.version": run.agent.version or "-",
        "run.experiment": run.experiment or "-",
        "run.source.format": run.source.format,
    } | {f"run.models.{i}": name for i, name in enumerate(run.models)}
    for field, name in names.items():
        if not 0 < len(name) <= NAME_CHARS:
            yield field, f"empty or more than {NAME_CHARS} characters"
    small = {"run.trial": run.trial, "run.attempt": run.attempt}
    for field, number in small.items():
        if not 1 <= number <= _INT32:
            yield field, "not between 1 and 2147483647"
    for record in bundle.records():
        yield from _value_faults(record)
    for event in run.events:
        if event.last_step < event.first_step:
            yield "run.events", "ends before it begins"
        if event.last_step > _INT32:
            yield "run.events", f"ends after step {_INT32}"
    for index, step in enumerate(bundle.steps):
        if step.index != index:
            yield "steps.index", f"{step.index} where {index} was due"
        if step.run_id != run.id:
            yield "steps.run_id", "belongs to another run"
    verdicts = (bundle.evaluations, bundle.labels, bundle.adjudications)
    if any(verdict.run_id != run.id for kind in verdicts for verdict in kind):
        yield "run_id", "belongs to another run"
    for record in bundle.records():
        for blob in blobs_of(record):
            yield from _blob_faults(blob)


def _blob_faults(blob: BlobRecord) -> Iterator[tuple[str, str]]:
    if not _MEDIA_TYPE.match(blob.media_type):
        yield "blob.media_type", "not a media type"
    if not _ROLE.match(blob.role):
        yield "blob.role", "not a role"
    if blob.name is not None and len(blob.name) > 500:
        yield "blob.name", "more than 500 characters"


def _value_faults(value: Record | tuple[object, ...]) -> Iterator[tuple[str, str]]:
    """Numbers and texts that no column holds, anywhere in the known fields."""
    inside = value.__dict__.items() if isinstance(value, Record) else ((".", it) for it in value)
    for name, item in inside:
        if item is None:
            continue
        if isinstance(item, str):
            if (not item.isascii() or "\0" in item) and UNSTORABLE.search(item):
                yield name, "holds invisible or incomplete characters"
        elif isinstance(item, int):
            if abs(item) > _INT64:
                yield name, "more than 63 bits"
        elif isinstance(item, (Record, tuple)) and item:
            for field, reason in _value_faults(item):
                yield f"{name}.{field}".strip("."), reason


AUTO = "auto"
QUESTIONS: Mapping[str, Question] = {
    question.key: question for question in (LABEL_QUESTION, ALONE_QUESTION)
}
"""All that readers may ask, by key."""

Found = RunBundle | Problem
"""A run; the `Rejection` of one; or a `Problem` that belongs to no single run."""


class Reader(Protocol):
    """Reads one format."""

    name: str
    """Short word for `--format` and for `source.format`."""

    signs: str
    """What it is recognised by, in words: told where nothing is recognised."""

    def find(self, tree: Tree, bounds: Bounds) -> Recognition:
        """What is in there of this format, judged by content. Never raises over a file."""

    def read(self, tree: Tree, bounds: Bounds, answers: Answers) -> Iterator[Found]:
        """Each run in turn. Never raises over what a file holds."""


READERS: tuple[Reader, ...] = (
    NativeReader(),
    AgentLabReader(),
    AgentRewardBenchReader(),
    BROWSER_USE,
    ONLINE_MIND2WEB,
    WebArenaReader(),
    WEBARENA_VERIFIED,
    PLAYWRIGHT,
    ATIF,
    InspectReader(),
    COMPUTER_USE,
    WEBVOYAGER,
    WONDERBREAD,
)


def format_names() -> list[str]:
    """The names that `open_runs` takes."""
    return [AUTO, *(reader.name for reader in READERS)]


def open_runs(
    given: Path | BinaryIO,
    *,
    format: str = AUTO,
    bounds: Bounds | None = None,
    label: str | None = None,
    answers: Answers | None = None,
) -> RunSource:
    """Open a folder, a zip or a single file; its runs are read when the result is iterated.

    Never raises over what is in there: an input that cannot be read gives one `Rejection`.

    Args:
        given: a folder, a zip or another file, or an open, seekable zip.
        format: one of `format_names()`; `auto` takes every format that is recognised.
        label: what to call the input in reports; the file's name by default.
        answers: to the questions of a preview (`RunSource.questions`).

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
        nothing: Tree = NamedFiles[None](shown, {})
        return RunSource(nothing, {}, bounds, Rejection(shown, shown, "", str(error)), {})
    return source_of(tree, format=format, bounds=bounds, answers=answers)


def source_of(
    tree: Tree, *, format: str = AUTO, bounds: Bounds | None = None, answers: Answers | None = None
) -> RunSource:
    """The runs in a tree that is open already."""
    bounds = bounds or Bounds()
    wanted = [reader for reader in READERS if format in (AUTO, reader.name)]
    found = _what_is_in(tree, wanted, bounds)
    refused = _why_none(tree, wanted, found, bounds)
    return RunSource(tree, {} if refused else found, bounds, refused, answers or {})


def _what_is_in(tree: Tree, readers: list[Reader], bounds: Bounds) -> dict[Reader, Recognition]:
    found: dict[Reader, Recognition] = {}
    for reader in readers:
        what = reader.find(tree, bounds)
        if what.runs or what.runs_if:
            found[reader] = what
            tree = HidingTree(tree, what.files) if what.closed else tree
    return found


_LOOKED_FOR = ". Looked for "


def without_formats(reason: str) -> str:
    """Why something was rejected, without the formats that were looked for: where those stand."""
    return reason.partition(_LOOKED_FOR)[0]


def _why_none(
    tree: Tree, wanted: list[Reader], found: dict[Reader, Recognition], bounds: Bounds
) -> Rejection | None:
    """Why nothing of it is read; None if it is."""
    if not found:
        if broken := why_unreadable(tree, bounds):
            return Rejection(tree.label, tree.label, "JSON", broken)
        of = f"{wanted[0].name} run" if len(wanted) == 1 else "run of a known format"
        signs = "; ".join(f"{reader.name}: {reader.signs}" for reader in wanted)
        reason = f"no {of} in it{_LOOKED_FOR}{signs}"
        return Rejection(tree.label, tree.label, "format", reason)
    if twice := clash({reader.name: what for reader, what in found.items()}, tree):
        return twice
    if sum(what.runs + sum(what.runs_if.values()) for what in found.values()) > bounds.runs:
        return Rejection(tree.label, tree.label, "runs", f"more than {bounds.runs} runs")
    return None


@dataclass(frozen=True, slots=True, eq=False)
class RunSource:
    """Runs waiting to be read. Iterate once, inside `with`."""

    _tree: Tree
    _found: dict[Reader, Recognition]
    _bounds: Bounds
    _refused: Rejection | None
    _answers: Answers

    @property
    def total(self) -> int:
        """Runs to expect, for a progress bar; damaged files may hold fewer."""
        return sum(
            what.runs + sum(n for key, n in what.runs_if.items() if key in self._answers)
            for what in self._found.values()
        )

    @property
    def questions(self) -> tuple[Question, ...]:
        """What the files leave open."""
        return tuple(question for what in self._found.values() for question in what.questions)

    @property
    def unread(self) -> tuple[str, ...]:
        """Files that no reader takes: they stay out."""
        taken: set[str] = set()
        for what in self._found.values():
            taken |= what.files | what.uses
        return tuple(name for name in self._tree.names if name not in taken)

    @property
    def formats(self) -> tuple[str, ...]:
        """The formats that were recognised."""
        return tuple(reader.name for reader in self._found)

    def __iter__(self) -> Iterator[Found]:
        yield from self._tree.problems
        if self._refused is not None:
            yield self._refused
        for reader in self._found:
            # Of an archive without its end the native format alone tells which runs are whole.
            is_cut = isinstance(self._tree, CutZipTree) and not isinstance(reader, NativeReader)
            for found in self._read(reader):
                if not isinstance(found, RunBundle):
                    yield found
                elif is_cut:
                    yield Rejection(found.source, self._tree.label, "archive", CUT_SHORT)
                else:
                    yield why_refused(found, self._bounds) or found

    def _read(self, reader: Reader) -> Iterator[Found]:
        """What one reader makes of the tree, without the files that belong to others."""
        others = (what for other, what in self._found.items() if other is not reader)
        taken = {name for what in others for name in what.files | what.uses}
        taken -= self._found[reader].files | self._found[reader].uses
        tree = HidingTree(self._tree, taken) if taken else self._tree
        return reader.read(tree, self._bounds, self._answers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tree.close()
