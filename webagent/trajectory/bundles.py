"""What every reader yields: a run with all that belongs to it, or the reason why not."""

import hashlib
import os
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol, get_args

from webagent.trajectory.canonical import run_content_hash
from webagent.trajectory.images import ImageFacts
from webagent.trajectory.records import BlobRecord, Record, RunRecord, StepRecord, TaskRecord
from webagent.trajectory.verdict_records import (
    SAID,
    AdjudicationRecord,
    EvaluationRecord,
    HintRecord,
    LabelRecord,
)

CUT_SHORT = "cut short: what is missing of this run is not known; send the whole file"

HELD_BYTES = 8_000_000
"""Of a run's files in memory: as much as most runs have. Few runs are in hand at a time."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was left out or not understood; what surrounds it was read."""

    source: str
    """The run (or file) it happened in, as the path inside what was given."""
    file: str
    field: str
    reason: str
    line: int = 0
    """Of the file, from 1; 0 where that is not known."""

    def __str__(self) -> str:
        where = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{where}, {self.field}: {self.reason}" if self.field else f"{where}: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        """Without a line that is not known."""
        return {key: value for key, value in asdict(self).items() if key != "line" or value}


@dataclass(frozen=True, slots=True)
class Rejection(Problem):
    """A run or a whole file that cannot be read. It leaves nothing behind."""


Said = EvaluationRecord | LabelRecord | AdjudicationRecord


def place_of(said: Said) -> str:
    """What is said of a run, as a problem with it names it."""
    kind = type(said).__name__.removesuffix("Record").lower()
    return f"{kind} {said.id}"


def n_taken(said: Iterable[Said], problems: Iterable[Problem]) -> int:
    """How many of these no problem refuses."""
    refused = {problem.file for problem in problems}
    return sum(place_of(each) not in refused for each in said)


class InputError(ValueError):
    """Something from outside cannot be taken. Names the place as far as whoever raises it knows."""

    def __init__(self, field: str, reason: str, *, file: str = "", line: int = 0) -> None:
        super().__init__(reason)
        self.file = file
        self.line = line
        self.field = field

    def problem(self, source: str, file: str = "") -> Problem:
        """The same as an item of a report; `file` stands where the error names none."""
        return Problem(source, self.file or file, self.field, str(self), self.line)

    def rejection(self, source: str, file: str = "") -> Rejection:
        """The same of what leaves nothing behind."""
        return Rejection(source, self.file or file, self.field, str(self), self.line)


class BlobError(ValueError):
    """A blob's bytes are not there, or no longer those that its hash names."""


class BlobSource(Protocol):
    """Where the bytes of a run's blobs come from."""

    def read(self, sha256: str) -> bytes:
        """The verified bytes of this hash. Raises BlobError."""


class BlobStash:
    """The bytes of a run's blobs, by hash, of which few are held in memory.

    The first are, up to `HELD_BYTES`. Of the others, files of the input are read again when asked
    for; what a reader made itself (a tree's text, a picture out of a message) lies compressed in
    a temporary file until the stash goes.
    """

    def __init__(self) -> None:
        self._held: dict[str, bytes] = {}
        self._room = HELD_BYTES
        self._readers: dict[str, Callable[[], bytes]] = {}
        self._made: dict[str, tuple[int, int]] = {}
        self.pictures: dict[str, ImageFacts] = {}
        """What is known of those that were found whole."""
        self._spool: Path | None = None
        self._end = 0
        self._forget: Callable[[], object] = lambda: None

    def __contains__(self, sha256: str) -> bool:
        return sha256 in self._held or sha256 in self._readers or sha256 in self._made

    def add_reader(
        self,
        sha256: str,
        read: Callable[[], bytes],
        content: bytes | None = None,
        facts: ImageFacts | None = None,
    ) -> None:
        """Remember where bytes of this hash can be read again.

        Args:
            content: the bytes, where they were read and verified just now.
            facts: what they are, where they were found to be a picture.
        """
        if facts is not None:
            self.pictures[sha256] = facts
        self._readers.setdefault(sha256, read)
        if content is not None:
            self._hold(sha256, content)

    def add_bytes(self, content: bytes) -> str:
        """Keep bytes that exist nowhere else; their hash."""
        sha256 = hashlib.sha256(content).hexdigest()
        if sha256 not in self and not self._hold(sha256, content):
            packed = zlib.compress(content, 1)
            with self._made_file().open("ab") as file:
                file.write(packed)
            self._made[sha256] = (self._end, len(packed))
            self._end += len(packed)
        return sha256

    def read(self, sha256: str) -> bytes:
        """The bytes of this hash, verified.

        Raises:
            BlobError: they are not here, or have changed since they were hashed.
        """
        if sha256 in self._held:
            return self._held[sha256]
        if sha256 in self._made:
            start, length = self._made[sha256]
            with self._made_file().open("rb") as file:
                file.seek(start)
                content = zlib.decompress(file.read(length))
        elif sha256 in self._readers:
            try:
                content = self._readers[sha256]()
            except (OSError, ValueError) as error:
                raise BlobError(f"blob {sha256} cannot be read: {error}") from error
        else:
            raise BlobError(f"blob {sha256} is not here")
        if hashlib.sha256(content).hexdigest() != sha256:
            raise BlobError(f"blob {sha256} has changed since it was first read")
        return content

    def _hold(self, sha256: str, content: bytes) -> bool:
        if sha256 not in self._held and len(content) <= self._room:
            self._held[sha256] = content
            self._room -= len(content)
        return sha256 in self._held

    def _made_file(self) -> Path:
        if self._spool is None:
            descriptor, name = tempfile.mkstemp(prefix="crosscheck-")
            os.close(descriptor)
            self._spool = Path(name)
            self._forget = weakref.finalize(self, self._spool.unlink, missing_ok=True)
        return self._spool

    def close(self) -> None:
        """Forget everything now instead of when the last reference goes."""
        self._held.clear()
        self._readers.clear()
        self._made.clear()
        self._forget()
        self._spool = None


@dataclass(frozen=True, kw_only=True)
class RunBundle:
    """One run with its task, steps, verdicts and files. Ids are those of the source."""

    source: str
    """Where it lay, as a path inside what was given."""
    task: TaskRecord
    run: RunRecord
    steps: tuple[StepRecord, ...] = ()
    evaluations: tuple[EvaluationRecord, ...] = ()
    labels: tuple[LabelRecord, ...] = ()
    adjudications: tuple[AdjudicationRecord, ...] = ()
    hints: tuple[HintRecord, ...] = ()
    """Written from this run."""
    blobs: BlobSource = field(default_factory=BlobStash, repr=False, compare=False)
    problems: tuple[Problem, ...] = ()

    @cached_property
    def content_hash(self) -> str:
        """The same for the same run, whatever installation it comes from."""
        return run_content_hash(self.task, self.run, self.steps)

    @property
    def n_screenshots(self) -> int:
        """How many observations have a clean picture."""
        observations = [o for step in self.steps for o in (step.before, step.after) if o]
        return sum(o.screenshot is not None for o in observations)

    def records(self) -> Iterator[Record]:
        """Every record, task first."""
        yield self.task
        yield self.run
        yield from self.steps
        for name in SAID:
            yield from getattr(self, name)

    def blob_records(self) -> Iterator[BlobRecord]:
        """Every blob that is mentioned, each hash once, in order of appearance."""
        return iter(self._mentioned.values())

    @cached_property
    def _mentioned(self) -> dict[str, BlobRecord]:
        found: dict[str, BlobRecord] = {}
        for record in self.records():
            for blob in blobs_of(record):
                found.setdefault(blob.sha256, blob)
        return found

    def read_blob(self, sha256: str) -> bytes:
        """The verified bytes of one blob. Raises BlobError."""
        return self.blobs.read(sha256)


def blobs_of(value: Record | tuple[object, ...]) -> Iterator[BlobRecord]:
    """Every blob inside a record, in the order of its fields."""
    if isinstance(value, BlobRecord):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            if isinstance(item, (tuple, Record)):
                yield from blobs_of(item)
    else:
        fields = value.__dict__
        for name in _fields_with_blobs(type(value)):
            if item := fields[name]:
                yield from blobs_of(item)


@cache
def _fields_with_blobs(kind: type[Record]) -> tuple[str, ...]:
    """Those that may hold one, by their types: few of a step's many parts do."""
    fields = kind.model_fields.items()
    return tuple(name for name, field in fields if _may_hold_blobs(field.annotation))


def _may_hold_blobs(annotation: object) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return annotation is BlobRecord or bool(_fields_with_blobs(annotation))
    return any(_may_hold_blobs(part) for part in get_args(annotation))
