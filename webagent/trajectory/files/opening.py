"""Open what was given: a folder, a zip, what is left of one that was cut short, or one file."""

import io
import json
import struct
import tempfile
import weakref
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from webagent.trajectory.files.archives import LOCAL_HEADER, LOCAL_MAGIC, NAME_SHOWN, ZipTree
from webagent.trajectory.files.trees import (
    FolderTree,
    NamedFiles,
    Refusals,
    Tree,
    TreeError,
    head_of,
    pieces_of,
    why_name_is_refused,
)
from webagent.trajectory.intake import BoundError, Bounds, InputError, Problem, check_ratio
from webagent.trajectory.texts import EncodingError, decoded, legible

_STARTS = ("{", "[")
_MOST_SCALAR = 1 << 16
# Of a member's own header in a zip.
_STORED, _DEFLATED = 0, 8
_SIZE_FOLLOWS = 0x8
_ENCRYPTED = 0x1
_ZIP64_SIZE = 0xFFFFFFFF
_ZIP64_FIELD = 1


def is_json(given: Path | BinaryIO) -> bool:
    """Whether a file begins like a JSON object or array, or is a JSON value as a whole."""
    try:
        head = _first_bytes(given, _MOST_SCALAR)
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
            return "nested too deeply"
        except ValueError as error:
            first = first or error
        else:
            return None if isinstance(value, dict | list) else "not a JSON object"
    return f"not readable as JSON: {first}"


class LoneFileTree(NamedFiles[Path | BinaryIO]):
    """A tree that holds the one file that was given, under its own name.

    Raises (on opening):
        BoundError: larger than a member may be.
    """

    def __init__(self, given: Path | BinaryIO, bounds: Bounds, label: str) -> None:
        super().__init__(label, {label.rstrip("/").rpartition("/")[2] or "file": given})
        if _bytes_of(given) > bounds.member_bytes:
            raise BoundError(f"more than {bounds.member_bytes} bytes")

    def _size(self, file: Path | BinaryIO) -> int:
        return _bytes_of(file)

    def _stream(self, file: Path | BinaryIO) -> BinaryIO:
        if isinstance(file, Path):
            return file.open("rb")
        file.seek(0)
        # A copy: readers close what they open, and the file that was given is not theirs.
        return io.BytesIO(file.read())


def holds_zip(tree: Tree, name: str) -> bool:
    """Whether the first bytes of a file are those of a zip."""
    return head_of(tree, name, len(LOCAL_MAGIC)) == LOCAL_MAGIC


def open_inner(tree: Tree, name: str, bounds: Bounds) -> ZipTree:
    """The zip that lies under a name of the tree; its copy goes when nobody holds it any more.

    Raises:
        InputError: damaged, larger than a member may be, or a bomb.
    """
    # A zip is read from its end, which a compressed member of another zip does not allow.
    copy = cast(BinaryIO, tempfile.TemporaryFile(prefix="crosscheck-"))  # noqa: SIM115 (closed below)
    try:
        copy.writelines(pieces_of(tree, name, bounds.member_bytes))
        inner = ZipTree(copy, bounds, f"{tree.label}/{name}")
    except (BoundError, TreeError) as error:
        copy.close()
        raise InputError("", str(error), file=name) from error
    except BaseException:
        copy.close()
        raise
    weakref.finalize(inner, copy.close)
    return inner


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
        if _first_bytes(given, len(LOCAL_MAGIC)) != LOCAL_MAGIC:
            if is_json(given):
                return LoneFileTree(given, bounds, label)
            is_empty = _bytes_of(given) == 0
            why = "the file is empty" if is_empty else "neither a readable zip nor JSON"
            raise TreeError(why) from error
    return CutZipTree(given, bounds, label)


def _bytes_of(given: Path | BinaryIO) -> int:
    return given.stat().st_size if isinstance(given, Path) else given.seek(0, io.SEEK_END)


@dataclass(frozen=True, slots=True)
class _Member:
    """What its header says; the bytes of the last one may end before `packed`."""

    start: int
    packed: int
    size: int
    deflated: bool


def _first_bytes(given: Path | BinaryIO, size: int) -> bytes:
    if isinstance(given, Path):
        with given.open("rb") as stream:
            return stream.read(size)
    given.seek(0)
    return given.read(size)


class CutZipTree(NamedFiles[_Member]):
    """The members of a cut zip, found from their own headers; the last one may be cut too.

    Only writers that put sizes in front of members (ours does) can be read like this.
    """

    def __init__(self, given: Path | BinaryIO, bounds: Bounds, label: str) -> None:
        self._bounds = bounds
        self._owned = isinstance(given, Path)
        self._archive = given.open("rb") if isinstance(given, Path) else given
        self._end = self._archive.seek(0, io.SEEK_END)
        refusals = Refusals(label, bounds)
        refusals.problems.append(Problem(label, label, "archive", "cut short: the end is missing"))
        try:
            super().__init__(label, self._scan(refusals), refusals.problems)
        except BoundError:
            self.close()
            raise
        if not self.names:
            self.close()
            raise TreeError("cut short: the end is missing")

    def close(self) -> None:
        if self._owned:
            self._archive.close()

    def _size(self, file: _Member) -> int:
        return file.size

    def _stream(self, file: _Member) -> BinaryIO:
        self._archive.seek(file.start)
        packed = self._archive.read(min(file.packed, self._end - file.start))
        if not file.deflated:
            return io.BytesIO(packed)
        try:
            # For zlib a limit of 0 is none at all, and sizes may lie.
            unpacked = zlib.decompressobj(-15).decompress(packed, max(file.size, 1))
        except zlib.error as error:
            raise TreeError(f"cannot be read: {error}") from error
        return io.BytesIO(unpacked[: file.size])

    def _scan(self, refusals: Refusals) -> dict[str, _Member]:
        bounds = self._bounds
        members: dict[str, _Member] = {}
        position = total = count = 0
        while header := self._header(position):
            name, member = header
            count += 1
            total += member.size
            if count > bounds.members:
                raise BoundError(f"more than {bounds.members} members")
            if max(member.size, member.packed) > bounds.member_bytes:
                raise BoundError(f"more than {bounds.member_bytes} bytes")
            if total > bounds.total_bytes:
                raise BoundError(f"more than {bounds.total_bytes} bytes when decompressed")
            check_ratio(member.size, member.packed, bounds)
            reason = why_name_is_refused(name, bounds)
            if name in members:
                reason = "appears twice"
            if reason:
                refusals.add(name[:NAME_SHOWN], reason)
            elif not name.endswith("/"):
                members[name] = member
            position = member.start + member.packed
        return members

    def _header(self, position: int) -> tuple[str, _Member] | None:
        self._archive.seek(position)
        raw = self._archive.read(LOCAL_HEADER.size)
        if len(raw) < LOCAL_HEADER.size:
            return None
        magic, _, flags, method, _, _, _, packed, size, name_len, extra_len = LOCAL_HEADER.unpack(
            raw
        )
        if magic != LOCAL_MAGIC or flags & (_SIZE_FOLLOWS | _ENCRYPTED):
            return None
        if method not in (_STORED, _DEFLATED):
            return None
        name = self._archive.read(name_len)
        extra = self._archive.read(extra_len)
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
