"""Open what was given: a folder, a zip, what is left of one that was cut short, or one file."""

from __future__ import annotations

import io
import json
import struct
import tempfile
import weakref
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from webagent.trajectory.archives import LOCAL_HEADER, LOCAL_MAGIC, ZipTree
from webagent.trajectory.bounds import BoundError, Bounds, check_ratio
from webagent.trajectory.bundles import Problem
from webagent.trajectory.texts import EncodingError, decoded, legible
from webagent.trajectory.trees import (
    READ_CHUNK,
    READ_ERRORS,
    FolderTree,
    Tree,
    TreeError,
    text_in_utf8,
    why_name_is_refused,
)

_STARTS = ("{", "[")
_MOST_SCALAR = 1 << 16


def is_json(given: Path | BinaryIO) -> bool:
    """Whether a file begins like a JSON object or array, or is a JSON value as a whole."""
    try:
        if isinstance(given, Path):
            with given.open("rb") as stream:
                head = stream.read(_MOST_SCALAR)
        else:
            given.seek(0)
            head = given.read(_MOST_SCALAR)
    except OSError:
        return False
    words = legible(head)[0].strip()
    if words.startswith(_STARTS):
        return True
    try:
        json.loads(words)
    except (ValueError, RecursionError):
        return False
    return len(head) < _MOST_SCALAR


def why_unreadable(tree: Tree, bounds: Bounds) -> str | None:
    """What is wrong with the JSON of a file that stands alone; None if it can be read.

    As one document, or as lines of which the first is one.
    """
    if not isinstance(tree, LoneFileTree) or tree.size(tree.names[0]) > bounds.json_bytes:
        return None
    try:
        with tree.open(tree.names[0]) as stream:
            text = decoded(stream.read())
    except (EncodingError, TreeError) as error:
        return str(error)
    first: ValueError | None = None
    for written in (text, text.lstrip().partition("\n")[0]):
        try:
            value = json.loads(written)
        except RecursionError:
            return "no valid JSON: too deep"
        except ValueError as error:
            first = first or error
        else:
            return None if isinstance(value, dict | list) else "neither an object nor an array"
    return f"no valid JSON: {first}"


class LoneFileTree:
    """A tree that holds the one file that was given, under its own name.

    Raises (on opening):
        BoundError: larger than a member may be.
    """

    problems: tuple[Problem, ...] = ()

    def __init__(self, given: Path | BinaryIO, bounds: Bounds, label: str) -> None:
        self._given = given
        self.label = label
        self.names: tuple[str, ...] = (label.rstrip("/").rpartition("/")[2] or "file",)
        if isinstance(given, Path):
            self._size = given.stat().st_size
        else:
            self._size = given.seek(0, io.SEEK_END)
        if self._size > bounds.member_bytes:
            raise BoundError(f"more than {bounds.member_bytes} bytes")

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def size(self, name: str) -> int:
        return self._size

    def open(self, name: str) -> BinaryIO:
        if name not in self.names:
            raise TreeError("not there")
        if isinstance(self._given, Path):
            return text_in_utf8(name, self._given.open("rb"))
        self._given.seek(0)
        # A copy: readers close what they open, and the file that was given is not theirs.
        return text_in_utf8(name, io.BytesIO(self._given.read()))

    def close(self) -> None:
        """Nothing is kept open."""


ZIP_MAGIC = b"PK\x03\x04"


def holds_zip(tree: Tree, name: str) -> bool:
    """Whether the first bytes of a file are those of a zip."""
    try:
        with tree.open(name) as stream:
            return stream.read(len(ZIP_MAGIC)) == ZIP_MAGIC
    except (TreeError, *READ_ERRORS):
        return False


def open_inner(tree: Tree, name: str, bounds: Bounds) -> ZipTree:
    """The zip that lies under a name of the tree; its copy goes when nobody holds it any more.

    Raises:
        BoundError: larger than a member may be, or a bomb.
        TreeError: damaged.
    """
    # A zip is read from its end, which a compressed member of another zip does not allow.
    copy = cast(BinaryIO, tempfile.TemporaryFile(prefix="crosscheck-"))  # noqa: SIM115 (closed below)
    try:
        _copy(tree, name, copy, bounds.member_bytes)
        inner = ZipTree(copy, bounds, f"{tree.label}/{name}")
    except BaseException:
        copy.close()
        raise
    weakref.finalize(inner, copy.close)
    return inner


def _copy(tree: Tree, name: str, copy: IO[bytes], limit: int) -> None:
    total = 0
    with tree.open(name) as stream:
        while True:
            try:
                chunk = stream.read(READ_CHUNK)
            except READ_ERRORS as error:
                raise TreeError(f"damaged: {error}") from error
            if not chunk:
                return
            total += len(chunk)
            if total > limit:
                raise BoundError(f"more than {limit} bytes")
            copy.write(chunk)


def open_tree(given: Path | BinaryIO, bounds: Bounds, label: str | None = None) -> Tree:
    """The files in a folder or zip; a JSON document stands alone in its tree.

    Raises:
        BoundError: more or larger than allowed.
        TreeError: neither a folder nor a zip nor a JSON document, or not readable.
    """
    if isinstance(given, Path):
        label = label or given.resolve().name
        if given.is_dir():
            return FolderTree(given, bounds, label)
        if not given.is_file():
            raise TreeError("no such file or folder")
    label = label or "upload.zip"
    try:
        return ZipTree(given, bounds, label)
    except TreeError as error:
        if not starts_like_zip(given):
            if is_json(given):
                return LoneFileTree(given, bounds, label)
            is_empty = _size(given) == 0
            why = "the file is empty" if is_empty else "neither a readable zip nor JSON"
            raise TreeError(why) from error
    return CutZipTree(given, bounds, label)


def _size(given: Path | BinaryIO) -> int:
    return given.stat().st_size if isinstance(given, Path) else given.seek(0, io.SEEK_END)


_STORED, _DEFLATED = 0, 8


_SIZE_FOLLOWS = 0x8


_ENCRYPTED = 0x1


_ZIP64_SIZE = 0xFFFFFFFF


_ZIP64_FIELD = 1


@dataclass(frozen=True, slots=True)
class _Member:
    """What its header says; the bytes of the last one may end before `packed`."""

    start: int
    packed: int
    size: int
    deflated: bool


def starts_like_zip(given: Path | BinaryIO) -> bool:
    """Whether the first bytes are those of a zip's first member."""
    if isinstance(given, Path):
        with given.open("rb") as file:
            return file.read(4) == LOCAL_MAGIC
    given.seek(0)
    return given.read(4) == LOCAL_MAGIC


class CutZipTree:
    """The members of a cut zip, found from their own headers; the last one may be cut too.

    Only writers that put sizes in front of members (ours does) can be read like this.
    """

    def __init__(self, given: Path | BinaryIO, bounds: Bounds, label: str) -> None:
        self.label = label
        self._bounds = bounds
        self._owned = isinstance(given, Path)
        self._file = given.open("rb") if isinstance(given, Path) else given
        self._end = self._file.seek(0, io.SEEK_END)
        self._members: dict[str, _Member] = {}
        self._problems = [Problem(label, label, "archive", "cut short: the end is missing")]
        try:
            self._scan()
        except BoundError:
            self.close()
            raise
        if not self._members:
            self.close()
            raise TreeError("a zip that is cut short, with nothing whole in it")
        self.names = tuple(sorted(self._members))
        self.problems = tuple(self._problems)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def size(self, name: str) -> int:
        return self._members[name].size

    def open(self, name: str) -> BinaryIO:
        if name not in self._members:
            raise TreeError("not there")
        member = self._members[name]
        self._file.seek(member.start)
        packed = self._file.read(min(member.packed, self._end - member.start))
        if not member.deflated:
            return text_in_utf8(name, io.BytesIO(packed))
        try:
            # For zlib a limit of 0 is none at all, and sizes may lie.
            unpacked = zlib.decompressobj(-15).decompress(packed, max(member.size, 1))
            return text_in_utf8(name, io.BytesIO(unpacked[: member.size]))
        except zlib.error as error:
            raise TreeError(f"damaged: {error}") from error

    def close(self) -> None:
        if self._owned:
            self._file.close()

    def _scan(self) -> None:
        bounds = self._bounds
        position = total = count = 0
        while header := self._header(position):
            name, member = header
            count += 1
            total += member.size
            if count > bounds.members:
                raise BoundError(f"more than {bounds.members} members")
            if max(member.size, member.packed) > bounds.member_bytes or total > bounds.total_bytes:
                raise BoundError("more bytes than allowed when decompressed")
            check_ratio(member.size, member.packed, bounds)
            reason = why_name_is_refused(name, bounds)
            if name in self._members:
                reason = "the name stands there twice"
            if reason:
                self._refuse(name, reason)
            elif not name.endswith("/"):
                self._members[name] = member
            position = member.start + member.packed

    def _refuse(self, name: str, reason: str) -> None:
        if len(self._problems) < self._bounds.problems:
            self._problems.append(Problem(self.label, name[:200], "name", reason))

    def _header(self, position: int) -> tuple[str, _Member] | None:
        self._file.seek(position)
        raw = self._file.read(LOCAL_HEADER.size)
        if len(raw) < LOCAL_HEADER.size:
            return None
        magic, _, flags, method, _, _, _, packed, size, name_len, extra_len = LOCAL_HEADER.unpack(
            raw
        )
        if magic != LOCAL_MAGIC or flags & (_SIZE_FOLLOWS | _ENCRYPTED):
            return None
        if method not in (_STORED, _DEFLATED):
            return None
        name = self._file.read(name_len)
        extra = self._file.read(extra_len)
        if len(name) < name_len or len(extra) < extra_len:
            return None
        if _ZIP64_SIZE in (packed, size):
            sizes = _zip64_sizes(extra)
            if sizes is None:
                return None
            size, packed = sizes
        start = position + LOCAL_HEADER.size + name_len + extra_len
        text = name.decode("utf-8", "replace")
        return text, _Member(start, packed, size, method == _DEFLATED)


def _zip64_sizes(extra: bytes) -> tuple[int, int] | None:
    position = 0
    while position + 4 <= len(extra):
        tag, length = struct.unpack_from("<2H", extra, position)
        if tag == _ZIP64_FIELD and length >= 16:
            size, packed = struct.unpack_from("<2Q", extra, position + 4)
            return size, packed
        position += 4 + length
    return None
