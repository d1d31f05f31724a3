"""Where writers of formats put their files: a zip or a folder."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO, Protocol

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
    """Files in a folder, none of which may be there already."""

    def __init__(self, folder: Path) -> None:
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
