"""Files under names: a folder, seen the same way as an archive, and never followed outside."""

import json
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

from webagent.trajectory.intake import BoundError, Bounds, Problem
from webagent.trajectory.texts import EncodingError, decoded, in_utf8

READ_CHUNK = 1 << 16
AT_ONCE_BYTES = 1 << 20
"""Most files are smaller and read by one call."""
_CONTROL = re.compile("[\x00-\x1f\ud800-\udfff]")
READ_ERRORS = (
    OSError,
    EOFError,
    ValueError,  # `TreeError` and `BoundError` too
    IndexError,  # a member without a name, say
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
    NotImplementedError,
)
"""What reading damaged archives and folders may raise."""


class TreeError(ValueError):
    """A file of the tree is not there, damaged, or of a kind that is not read."""


F = TypeVar("F")


class NamedFiles(Generic[F]):
    """Regular files under relative names with `/`, in sorted order, known from the beginning.

    Most need nothing closed.
    """

    def __init__(
        self, label: str, files: Mapping[str, F], problems: Iterable[Problem] = ()
    ) -> None:
        """`problems` are entries that were refused (links, odd names, specials), one by one."""
        self.label = label
        self.names = tuple(sorted(files))
        self.problems = tuple(problems)
        self._files = files

    def __contains__(self, name: object) -> bool:
        return name in self._files

    def size(self, name: str) -> int:
        """Bytes of the file as declared, decompressed."""
        return self._size(self._files[name])

    def open(self, name: str) -> BinaryIO:
        """A stream of its bytes. Raises TreeError."""
        if name not in self._files:
            raise TreeError("missing")
        stream = self._stream(self._files[name])
        try:
            return in_utf8(name, stream)
        except EncodingError as error:
            raise TreeError(str(error)) from error
        except READ_ERRORS as error:
            raise TreeError(f"cannot be read: {error}") from error

    def hashed(self, name: str) -> bytes | None:
        """All of a small file, not held to a sum of the tree's: for whoever compares its SHA-256.

        None where there is no such sum, or it cannot be left out. Raises TreeError.
        """
        return None

    def close(self) -> None:
        """Let go of what is open."""

    def _size(self, file: F) -> int:
        raise NotImplementedError

    def _stream(self, file: F) -> BinaryIO:
        """The file's bytes as they lie there. Raises TreeError."""
        raise NotImplementedError


Tree = NamedFiles[Any]


def given_name(tree: Tree) -> str:
    """The last part of the label without `.zip`: what the user would call the folder."""
    return tree.label.rstrip("/").rpartition("/")[2].removesuffix(".zip")


def read_file(tree: Tree, name: str, limit: int) -> bytes:
    """All bytes of one file. Raises as `pieces_of` does."""
    return b"".join(pieces_of(tree, name, limit))


def pieces_of(tree: Tree, name: str, limit: int) -> Iterator[bytes]:
    """The bytes of one file, piece by piece.

    Raises:
        BoundError: it has more than `limit` bytes.
        TreeError: it is damaged.
    """
    total = 0
    with tree.open(name) as stream:
        while chunk := _read_some(stream):
            total += len(chunk)
            if total > limit:
                raise BoundError(f"more than {limit} bytes")
            yield chunk


def head_of(tree: Tree, name: str, limit: int) -> bytes:
    """The first bytes of a file; none where it is not there or damaged."""
    try:
        with tree.open(name) as stream:
            return stream.read(limit)
    except READ_ERRORS:
        return b""


def windows_of(tree: Tree, name: str, overlap: int, most: int = 1 << 62) -> Iterator[bytes]:
    """A file piece by piece, each with the end of the one before; damage ends it, as `most` does.

    Args:
        overlap: the longest thing that is looked for, in bytes.
        most: no further piece begins behind so many bytes.
    """
    rest, total = b"", 0
    try:
        with tree.open(name) as stream:
            while total <= most and (chunk := stream.read(READ_CHUNK)):
                total += len(chunk)
                yield rest + chunk
                rest = (rest + chunk)[-overlap:]
    except READ_ERRORS:
        return


def json_of(tree: Tree, name: str, bounds: Bounds) -> Any:
    """The JSON document in a file.

    Raises:
        ValueError: it is none, too large, or cannot be read.
    """
    try:
        return json.loads(decoded(read_file(tree, name, bounds.json_bytes)))
    except RecursionError as error:
        raise ValueError(str(error)) from error


def _read_some(stream: BinaryIO) -> bytes:
    try:
        return stream.read(AT_ONCE_BYTES)
    except BoundError:
        raise
    except READ_ERRORS as error:
        raise TreeError(f"cannot be read: {error}") from error


FORBIDDEN_PATH = "absolute path, empty segment or forbidden character"


def why_name_is_refused(name: str, bounds: Bounds) -> str | None:
    """Why a name from an archive is not taken; None if it is harmless."""
    parts = name.split("/")
    if not name or name.startswith("/") or "\\" in name or "\0" in name:
        return FORBIDDEN_PATH
    if ".." in parts or (len(parts[0]) > 1 and parts[0][1] == ":"):
        return "leads outside"
    if any(part in ("", ".") for part in parts):
        return FORBIDDEN_PATH
    if _CONTROL.search(name):
        return FORBIDDEN_PATH
    if len(name) > bounds.path_chars or len(parts) > bounds.path_depth:
        return "path too long or too deep"
    return None


class Refusals:
    """Names that are not taken, listed up to a bound."""

    def __init__(self, label: str, bounds: Bounds) -> None:
        self.problems: list[Problem] = []
        self._label = label
        self._most = bounds.problems

    def add(self, name: str, reason: str) -> None:
        if len(self.problems) < self._most:
            shown = name.encode("utf-8", "replace").decode()
            self.problems.append(Problem(self._label, shown, "name", reason))


class FolderTree(NamedFiles[Path]):
    """A folder. Links are taken only to regular files inside it; special files never."""

    def __init__(self, folder: Path, bounds: Bounds, label: str | None = None) -> None:
        self._root = folder.resolve(strict=True)
        self._bounds = bounds
        self._refusals = Refusals(label or self._root.name, bounds)
        paths: dict[str, Path] = {}
        for name, path in self._walk(self._root, ""):
            paths[name] = path
            if len(paths) > bounds.members:
                raise BoundError(f"more than {bounds.members} files")
        super().__init__(label or self._root.name, paths, self._refusals.problems)

    def _size(self, file: Path) -> int:
        return file.stat().st_size

    def _stream(self, file: Path) -> BinaryIO:
        try:
            # The path was resolved; O_NOFOLLOW refuses one that became a link since.
            descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise TreeError(f"cannot be read: {error.strerror}") from error
        return os.fdopen(descriptor, "rb")

    def _walk(self, folder: Path, prefix: str) -> Iterator[tuple[str, Path]]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self._refusals.add(prefix or ".", f"folder cannot be read: {error.strerror}")
            return
        for entry in entries:
            name = prefix + entry.name
            reason = why_name_is_refused(name, self._bounds)
            if reason:
                self._refusals.add(name, reason)
            elif entry.is_symlink():
                yield from self._linked(name, Path(entry.path))
            elif entry.is_dir():
                yield from self._walk(Path(entry.path), name + "/")
            elif entry.is_file():
                yield name, Path(entry.path)
            else:
                self._refusals.add(name, "not a regular file")

    def _linked(self, name: str, path: Path) -> Iterator[tuple[str, Path]]:
        try:
            target = path.resolve(strict=True)
            inside = target.is_relative_to(self._root)
            regular = stat.S_ISREG(target.stat().st_mode)
        except (OSError, RuntimeError):
            self._refusals.add(name, "link that leads nowhere")
            return
        if inside and regular:
            yield name, target
        else:
            self._refusals.add(name, "leads outside" if not inside else "not a regular file")
