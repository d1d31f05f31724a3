"""Write the native format: any number of runs, in bounded memory, the same bytes each time."""

import hashlib
import tempfile
import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import IO, BinaryIO, Protocol

from webagent.trajectory.blobs import BlobSource
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.canonical import canonical_json
from webagent.trajectory.formats.native.schema import (
    LINE_FILES,
    MANIFEST,
    N_STEPS,
    RUNS,
    SAID_FILES,
    STEPS,
    TASKS,
    Blinding,
    BlobSums,
    LineFile,
    Manifest,
    Producer,
    blob_name,
)
from webagent.trajectory.records import Record, TaskRecord

_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
_STORED_ENDINGS = (".png", ".jpg", ".webp", ".gif", ".webm", ".mp4")
_CHUNK = 1 << 16


class Sink(Protocol):
    """Takes files in order, each once."""

    def add(self, name: str, content: IO[bytes] | bytes, size: int) -> None:
        """One file of so many bytes."""


class ZipSink:
    """Members of a zip with one time and one mode, so that the same files give the same bytes."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def add(self, name: str, content: IO[bytes] | bytes, size: int) -> None:
        entry = zipfile.ZipInfo(name, _ZIP_EPOCH)
        entry.create_system = 3
        entry.external_attr = 0o100644 << 16
        stored = name.endswith(_STORED_ENDINGS)
        entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
        entry.file_size = size
        with self._archive.open(entry, "w") as out:
            _copy(content, out)


class FolderSink:
    """Files in a folder that must not exist or be empty. Raises FileExistsError."""

    def __init__(self, folder: Path) -> None:
        if folder.exists() and any(folder.iterdir()):
            raise FileExistsError(folder)
        self._folder = folder

    def add(self, name: str, content: IO[bytes] | bytes, size: int) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as out:
            _copy(content, out)


class PrefixSink:
    """Files in a folder of another sink."""

    def __init__(self, sink: Sink, folder: str) -> None:
        self._sink = sink
        self._folder = folder

    def add(self, name: str, content: IO[bytes] | bytes, size: int) -> None:
        self._sink.add(f"{self._folder}{name}", content, size)


def _copy(content: IO[bytes] | bytes, out: IO[bytes]) -> None:
    if isinstance(content, bytes):
        out.write(content)
        return
    while chunk := content.read(_CHUNK):
        out.write(chunk)


PRODUCER = Producer(name="crosscheck", version="0.1.0")


def write_zip(
    target: Path | BinaryIO, bundles: Iterable[RunBundle], *, blinding: Blinding | None = None
) -> Manifest:
    """Write the runs as one zip and return its manifest.

    The same runs in the same order give the same bytes.

    Args:
        target: a path, or a writable and *seekable* binary file.
        bundles: read once, one at a time; their blob sources are kept until the end.

    Raises:
        BlobError: a blob that is mentioned cannot be read.
    """
    with zipfile.ZipFile(target, "w") as archive:
        return write_native(ZipSink(archive), bundles, blinding=blinding)


def write_folder(
    target: Path, bundles: Iterable[RunBundle], *, blinding: Blinding | None = None
) -> Manifest:
    """Like `write_zip`, as a folder that must not exist or be empty.

    Raises:
        FileExistsError: something lies there already.
        BlobError: a blob that is mentioned cannot be read.
    """
    return write_native(FolderSink(target), bundles, blinding=blinding)


class LineFileWriter:
    """One JSON Lines file on its way: spooled, counted and hashed."""

    def __init__(self) -> None:
        self.spool: IO[bytes] = tempfile.TemporaryFile(prefix="crosscheck-")  # noqa: SIM115 (whoever writes it closes it)
        self._digest = hashlib.sha256()
        self._count = 0

    def add(self, record: Record) -> None:
        line = canonical_json(record)
        self.spool.write(line)
        self._digest.update(line)
        self._count += 1

    def summary(self) -> LineFile:
        size, sha256 = self.spool.tell(), self._digest.hexdigest()
        return LineFile(count=self._count, bytes=size, sha256=sha256)

    def write(self, sink: Sink, name: str) -> None:
        """Put it under its name, once all of it is there."""
        size = self.spool.tell()
        self.spool.seek(0)
        sink.add(name, self.spool, size)


class _TaskIds:
    """Ids of tasks in the file: the same id with another content gets a suffix."""

    def __init__(self) -> None:
        self._written: dict[str, dict[bytes, str]] = {}

    def place(self, task: TaskRecord) -> tuple[TaskRecord, bool]:
        """The task under the id it has in the file, and whether it is new there."""
        content = hashlib.sha256(canonical_json(task)).digest()
        ids = self._written.setdefault(task.id, {})
        new = content not in ids
        if new:
            ids[content] = task.id if not ids else f"{task.id}#{len(ids) + 1}"
        return task.model_copy(update={"id": ids[content]}), new


def write_native(
    sink: Sink, bundles: Iterable[RunBundle], *, blinding: Blinding | None = None
) -> Manifest:
    """Write the runs to wherever the sink puts them; otherwise as `write_zip`."""
    files = {name: LineFileWriter() for name in LINE_FILES}
    blobs: dict[str, tuple[str, int, BlobSource]] = {}
    task_ids = _TaskIds()
    try:
        for given in bundles:
            bundle = blinding.apply(given) if blinding else given
            task, new = task_ids.place(bundle.task)
            bundle = replace(bundle, task=task)
            if new:
                files[TASKS].add(task)
            _add_lines(bundle, files)
            for blob in bundle.blob_records():
                name = blob_name(blob.sha256, blob.media_type)
                blobs.setdefault(blob.sha256, (name, blob.bytes, bundle.blobs))
        manifest = Manifest(
            producer=PRODUCER,
            blind=blinding is not None,
            files={name: file.summary() for name, file in files.items()},
            blobs=BlobSums(count=len(blobs), bytes=sum(size for _, size, _ in blobs.values())),
        )
        # What names the rest comes first: a file that is cut short keeps its whole runs.
        head = canonical_json(manifest)
        sink.add(MANIFEST, head, len(head))
        for name, file in files.items():
            file.write(sink, name)
    finally:
        for file in files.values():
            file.spool.close()
    for sha256, (name, size, source) in blobs.items():
        sink.add(name, source.read(sha256), size)
    return manifest


def _add_lines(bundle: RunBundle, files: dict[str, LineFileWriter]) -> None:
    run = bundle.run.model_copy(update={"task_id": bundle.task.id, N_STEPS: len(bundle.steps)})
    files[RUNS].add(run)
    for file, name in {STEPS: "steps", **SAID_FILES}.items():
        for record in getattr(bundle, name):
            files[file].add(record)
