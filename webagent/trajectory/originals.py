"""A stored run's own source files as a tree, for a better importer to read again."""

from __future__ import annotations

import io
from typing import BinaryIO

from webagent.trajectory.bundles import BlobError, Problem, RunBundle, blobs_of
from webagent.trajectory.trees import TreeError

ORIGINAL = "source"
"""Role of the files that make up an original."""
_BESIDE = ("artefact", "log")
_UNNAMED = "blobs"


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
