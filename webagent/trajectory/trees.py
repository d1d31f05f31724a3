"""Files under names: a folder, seen the same way as an archive, and never followed outside."""

from __future__ import annotations

import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from webagent.trajectory.bounds import BoundError, Bounds
from webagent.trajectory.bundles import Problem
from webagent.trajectory.texts import EncodingError, in_utf8

READ_CHUNK = 1 << 16
AT_ONCE_BYTES = 1 << 20
"""Most files are smaller and read by one call."""
_CONTROL = re.compile("[\x00-\x1f\ud800-\udfff]")
READ_ERRORS = (
    OSError,
    EOFError,
    ValueError,
    IndexError,  # a member without a name, say
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
    NotImplementedError,
)
"""What reading damaged archives and folders may raise."""


class TreeError(ValueError):
    """A file of the tree is not there, damaged, or of a kind that is not read."""


class Tree(Protocol):
    """Regular files under relative names with `/`, in sorted order."""

    label: str
    names: tuple[str, ...]
    problems: tuple[Problem, ...]
    """Entries that were refused (links, odd names, specials), one by one."""

    def __contains__(self, name: object) -> bool:
        """Whether a file of that name is there."""

    def size(self, name: str) -> int:
        """Bytes of the file as declared, decompressed."""

    def open(self, name: str) -> BinaryIO:
        """A stream of its bytes. Raises TreeError."""

    def close(self) -> None:
        """Let go of what is open."""


def given_name(tree: Tree) -> str:
    """The last part of the label without `.zip`: what the user would call the folder."""
    return tree.label.rstrip("/").rpartition("/")[2].removesuffix(".zip")


def read_file(tree: Tree, name: str, limit: int) -> bytes:
    """All bytes of one file.

    Raises:
        BoundError: it has more than `limit` bytes.
        TreeError: it is damaged.
    """
    chunks, total = [], 0
    with tree.open(name) as stream:
        while chunk := _read_some(stream):
            total += len(chunk)
            if total > limit:
                raise BoundError(f"more than {limit} bytes")
            chunks.append(chunk)
    return b"".join(chunks)


def text_in_utf8(name: str, stream: BinaryIO) -> BinaryIO:
    """The stream of a file, as UTF-8 where it is a text in UTF-16 or UTF-32. Raises TreeError."""
    try:
        return in_utf8(name, stream)
    except EncodingError as error:
        raise TreeError(str(error)) from error
    except READ_ERRORS as error:
        raise TreeError(f"damaged: {error}") from error


def _read_some(stream: BinaryIO) -> bytes:
    try:
        return stream.read(AT_ONCE_BYTES)
    except BoundError:
        raise
    except READ_ERRORS as error:
        raise TreeError(f"damaged: {error}") from error


def why_name_is_refused(name: str, bounds: Bounds) -> str | None:
    """Why a name from an archive is not taken; None if it is harmless."""
    parts = name.split("/")
    if not name or name.startswith("/") or "\\" in name or "\0" in name:
        return "absolute path or forbidden character"
    if ".." in parts or (len(parts[0]) > 1 and parts[0][1] == ":"):
        return "path leads outside"
    if any(part in ("", ".") for part in parts):
        return "empty path segment"
    if _CONTROL.search(name):
        return "control character in the name"
    if len(name) > bounds.path_chars or len(parts) > bounds.path_depth:
        return "path too long or too deep"
    return None


class FolderTree:
    """A folder. Links are taken only to regular files inside it; special files never."""

    def __init__(self, folder: Path, bounds: Bounds, label: str | None = None) -> None:
        self._root = folder.resolve(strict=True)
        self._bounds = bounds
        self.label = label or self._root.name
        self._problems: list[Problem] = []
        self._paths: dict[str, Path] = {}
        for name, path in self._walk(self._root, ""):
            self._paths[name] = path
            if len(self._paths) > bounds.members:
                raise BoundError(f"more than {bounds.members} files")
        self.names = tuple(sorted(self._paths))
        self.problems = tuple(self._problems)

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def size(self, name: str) -> int:
        return self._paths[name].stat().st_size

    def open(self, name: str) -> BinaryIO:
        if name not in self._paths:
            raise TreeError("not there")
        try:
            # The path was resolved; O_NOFOLLOW refuses one that became a link since.
            descriptor = os.open(self._paths[name], os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError as error:
            raise TreeError(f"cannot be opened: {error.strerror}") from error
        return text_in_utf8(name, os.fdopen(descriptor, "rb"))

    def close(self) -> None:
        """Nothing is kept open."""

    def _walk(self, folder: Path, prefix: str) -> Iterator[tuple[str, Path]]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self._refuse(prefix or ".", f"folder cannot be read: {error.strerror}")
            return
        for entry in entries:
            name = prefix + entry.name
            reason = why_name_is_refused(name, self._bounds)
            if reason:
                self._refuse(name, reason)
            elif entry.is_symlink():
                yield from self._linked(name, Path(entry.path))
            elif entry.is_dir():
                yield from self._walk(Path(entry.path), name + "/")
            elif entry.is_file():
                yield name, Path(entry.path)
            else:
                self._refuse(name, "not a regular file")

    def _linked(self, name: str, path: Path) -> Iterator[tuple[str, Path]]:
        try:
            target = path.resolve(strict=True)
            inside = target.is_relative_to(self._root)
            regular = stat.S_ISREG(target.stat().st_mode)
        except (OSError, RuntimeError):
            self._refuse(name, "link that leads nowhere")
            return
        if inside and regular:
            yield name, target
        else:
            self._refuse(name, "link that leaves the folder" if not inside else "link to a folder")

    def _refuse(self, name: str, reason: str) -> None:
        if len(self._problems) < self._bounds.problems:
            shown = name.encode("utf-8", "replace").decode()
            self._problems.append(Problem(self.label, shown, "name", reason))
