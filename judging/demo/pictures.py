"""What is shipped of recorded runs: pictures in few colours, which plain pages have anyway."""

import hashlib
import io
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from PIL import Image

from runs.exports.services import replacing
from webagent.trajectory.bundles import BlobSource, RunBundle
from webagent.trajectory.formats.native.writer import write_zip
from webagent.trajectory.reading import open_runs
from webagent.trajectory.records import StepRecord

COLOURS = 48


def shrink(archive: Path) -> None:
    """Write the archive anew, with smaller screenshots of the same size in pixels."""
    with open_runs(archive) as recorded:
        _write(archive, map(_smaller, _readable(recorded)))


def put_in(recorded: Path, shipped: Path, out: Path) -> None:
    """Write the shipped runs, with those of recorded tasks in the place of theirs.

    All others stay as they are, to the byte.
    """
    with open_runs(recorded) as new, open_runs(shipped) as old:
        _write(out, _replaced(_readable(old), _readable(new)))


def _replaced(shipped: Iterable[RunBundle], recorded: Iterable[RunBundle]) -> Iterator[RunBundle]:
    """In the order of the shipped runs, so that what is recorded together stands not together."""
    runs: defaultdict[str, deque[RunBundle]] = defaultdict(deque)
    for bundle in recorded:
        runs[bundle.task.id].append(bundle)
    for bundle in shipped:
        if bundle.task.id not in runs:
            yield bundle
        elif runs[bundle.task.id]:
            yield runs[bundle.task.id].popleft()
    yield from chain.from_iterable(runs.values())


def _write(out: Path, runs: Iterable[RunBundle]) -> None:
    with replacing(out) as unfinished:
        write_zip(unfinished, runs)


def _readable(source: Iterable[object]) -> Iterator[RunBundle]:
    for item in source:
        if not isinstance(item, RunBundle):
            raise TypeError(f"not a run that can be read: {item}")
        yield item


def _smaller(run: RunBundle) -> RunBundle:
    blobs = _Pictures(run.blobs)
    steps = tuple(
        StepRecord.model_validate(blobs.replaced(step.model_dump(mode="json")))
        for step in run.steps
    )
    return replace(run, steps=steps, blobs=blobs)


class _Pictures:
    """The blobs of a run, its pictures among them in fewer colours."""

    def __init__(self, source: BlobSource) -> None:
        self._source = source
        self._made: dict[str, bytes] = {}
        self._known: dict[str, str] = {}

    def read(self, sha256: str) -> bytes:
        return self._made.get(sha256) or self._source.read(sha256)

    def replaced(self, value: Any) -> Any:
        """The record with the smaller picture's hash and length wherever a picture is named."""
        if isinstance(value, list):
            return [self.replaced(each) for each in value]
        if not isinstance(value, dict):
            return value
        if value.get("media_type") == "image/png" and "sha256" in value:
            sha256 = self._small(value["sha256"])
            return value | {"sha256": sha256, "bytes": len(self._made[sha256])}
        return {key: self.replaced(each) for key, each in value.items()}

    def _small(self, sha256: str) -> str:
        if sha256 not in self._known:
            content = _in_few_colours(self._source.read(sha256))
            self._known[sha256] = hashlib.sha256(content).hexdigest()
            self._made[self._known[sha256]] = content
        return self._known[sha256]


def _in_few_colours(content: bytes) -> bytes:
    out = io.BytesIO()
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()
