"""Writing a study's bundle: the same study gives the same bytes."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import IO, BinaryIO

from judging.models import Study
from judging.portability.study_bundles.contents import StudyContents
from judging.portability.study_bundles.kinds import KINDS
from judging.portability.study_bundles.records import FORMAT, VERSION, AttachmentLine, Head, Line
from runs.exports.run_bundles import StoredBlobs, bundles_of
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.canonical import canonical_json
from webagent.trajectory.native.reader import RUNS_OF_BUNDLE, STUDY_OF_BUNDLE
from webagent.trajectory.native.schema import blob_name
from webagent.trajectory.native.writer import PRODUCER, PrefixSink, Sink, ZipSink, write_native

FOLDER = STUDY_OF_BUNDLE
HEAD = "bundle.json"


def write_study(file: BinaryIO, study: Study, *, on_run: Callable[[], None] | None = None) -> Head:
    """Write the whole study to a seekable file; line by line and run by run.

    Raises:
        BlobError: a blob is missing in the store.
    """
    contents = StudyContents(study)
    with zipfile.ZipFile(file, "w") as archive:
        sink = ZipSink(archive)
        head = _write_lines(PrefixSink(sink, FOLDER), contents)
        write_native(PrefixSink(sink, RUNS_OF_BUNDLE), _without_judgements(contents, on_run))
    return head


def _write_lines(sink: Sink, contents: StudyContents) -> Head:
    spools: dict[str, IO[bytes]] = {}
    files: dict[str, dict[str, object]] = {}
    blobs: dict[str, str] = {}
    try:
        for name, lines in contents.lines().items():
            spools[name] = tempfile.TemporaryFile(prefix="crosscheck-")  # noqa: SIM115 (closed below)
            files[file_of(name)] = _spool(spools[name], _noted(lines(), blobs))
        head = Head.model_validate(
            {
                "format": FORMAT,
                "version": VERSION,
                "producer": PRODUCER.model_dump(),
                "files": files,
            }
        )
        # What names the rest comes first.
        content = canonical_json(head)
        sink.add(HEAD, content, len(content))
        for name, spool in spools.items():
            size = spool.tell()
            spool.seek(0)
            sink.add(file_of(name), spool, size)
    finally:
        for spool in spools.values():
            spool.close()
    for sha256, media_type in blobs.items():
        stored = StoredBlobs().read(sha256)
        sink.add(blob_name(sha256, media_type), stored, len(stored))
    return head


def file_of(kind: str) -> str:
    """The file in `study/` that holds the lines of this kind."""
    if kind not in KINDS:
        raise KeyError(kind)
    return f"{kind}.jsonl"


def _noted(lines: Iterable[Line], blobs: dict[str, str]) -> Iterator[Line]:
    """The lines; files that they name are noted on the way."""
    for line in lines:
        if isinstance(line, AttachmentLine):
            blobs.setdefault(line.sha256, line.media_type)
        yield line


def _spool(spool: IO[bytes], lines: Iterable[Line]) -> dict[str, object]:
    digest = hashlib.sha256()
    count = 0
    for line in lines:
        written = canonical_json(line)
        spool.write(written)
        digest.update(written)
        count += 1
    return {"count": count, "bytes": spool.tell(), "sha256": digest.hexdigest()}


def _without_judgements(
    contents: StudyContents, on_run: Callable[[], None] | None
) -> Iterator[RunBundle]:
    """The runs; judgements of them stand in files of their own."""
    for bundle in bundles_of(contents.runs.order_by("pk")):
        task = bundle.task.model_copy(update={"milestones": None})
        yield replace(bundle, task=task, evaluations=(), labels=(), adjudications=())
        if on_run:
            on_run()
