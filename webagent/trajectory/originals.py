"""A stored run's own source files as a tree, for a better importer to read again."""

from __future__ import annotations

import hashlib
import io
import re
from typing import BinaryIO

from webagent.trajectory.bounds import BoundError
from webagent.trajectory.bundles import BlobError, Problem, RunBundle, blobs_of
from webagent.trajectory.images import ImageError, decode_image
from webagent.trajectory.records import BlobRecord
from webagent.trajectory.run_files import BLOB_KEY, RunFiles
from webagent.trajectory.trees import Tree, TreeError, read_file

_BESIDE = ("artefact", "log", "video")
_UNNAMED = "blobs"
_HASH = re.compile(r"^[0-9a-f]{64}$")


class KeptTree:
    """The originals of a run with its pictures, where they lay in what was imported."""

    problems: tuple[Problem, ...] = ()

    def __init__(self, bundle: RunBundle) -> None:
        self._bundle = bundle
        self.label = bundle.source
        self._files = _files(bundle)
        self.names = tuple(sorted(self._files))

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def size(self, name: str) -> int:
        return self._files[name][1]

    def open(self, name: str) -> BinaryIO:
        if name not in self._files:
            raise TreeError("not there")
        try:
            return io.BytesIO(self._bundle.read_blob(self._files[name][0]))
        except BlobError as error:
            raise TreeError(str(error)) from error

    def close(self) -> None:
        """Nothing is kept open."""


def kept_pictures(
    tree: Tree, files: RunFiles, place: str, value: object, pictures: dict[str, BlobRecord]
) -> None:
    """Add to `pictures` those that a JSON value names by their hash, from a tree of originals."""
    for sha256 in hashes_in(value) - pictures.keys():
        if kept := kept_picture(tree, files, place, sha256, "screenshot"):
            pictures[sha256] = kept


def kept_picture(
    tree: Tree, files: RunFiles, place: str, sha256: str, role: str
) -> BlobRecord | None:
    """A picture that an original names by its hash, from a tree of originals; None elsewhere.

    Args:
        place: folder of the original in the tree, empty or with `/` at its end.
    """
    name = f"{place}{_UNNAMED}/{sha256}"
    if name not in tree:
        return None
    try:
        content = read_file(tree, name, files.bounds.image_bytes)
        facts = decode_image(content, files.bounds)
    except (BoundError, ImageError, TreeError):
        return None
    if hashlib.sha256(content).hexdigest() != sha256:
        return None
    files.stash.add_bytes(content)
    return BlobRecord(
        sha256=sha256,
        media_type=facts.media_type,
        bytes=len(content),
        role=role,
        width=facts.width,
        height=facts.height,
    )


def hashes_in(value: object) -> set[str]:
    """Every hash that `{"$blob": hash}` names in a JSON value."""
    found: set[str] = set()
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            sha256 = item.get(BLOB_KEY)
            if isinstance(sha256, str) and _HASH.match(sha256):
                found.add(sha256)
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
    return found


def has_original(bundle: RunBundle) -> bool:
    """Whether the run's source files are kept."""
    return bool(bundle.run.source.originals)


def _files(bundle: RunBundle) -> dict[str, tuple[str, int]]:
    """Name -> hash and bytes. The first original is the file that the source's path names."""
    source = bundle.run.source
    if not source.originals:
        return {}
    first = source.originals[0].name or ""
    path = source.path or first
    place = path.removesuffix(first) if first and path.endswith(first) else ""
    found = {
        f"{place}{blob.name}": (blob.sha256, blob.bytes) for blob in source.originals if blob.name
    }
    for record in bundle.records():
        for blob in blobs_of(record):
            if blob.media_type.startswith("image/") or blob.role in _BESIDE:
                name = blob.name or f"{_UNNAMED}/{blob.sha256}"
                found.setdefault(f"{place}{name}", (blob.sha256, blob.bytes))
    return found
