"""Members of zips that `zipfile` cannot read: of a zip without its end, or packed by Zstandard."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, cast

import zstandard

from webagent.trajectory.bounds import BoundError, Bounds, check_ratio
from webagent.trajectory.bundles import Problem
from webagent.trajectory.trees import TreeError, text_in_utf8, why_name_is_refused

LOCAL_MAGIC = b"PK\x03\x04"
_LOCAL = struct.Struct("<4s5H3L2H")
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
        raw = self._file.read(_LOCAL.size)
        if len(raw) < _LOCAL.size:
            return None
        magic, _, flags, method, _, _, _, packed, size, name_len, extra_len = _LOCAL.unpack(raw)
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
        start = position + _LOCAL.size + name_len + extra_len
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


ZSTANDARD = 93
MAX_WINDOW = 1 << 27
"""Memory that one frame may ask for: the most that writers use without being told to."""

_CHUNK = 1 << 16


class _Archive(Protocol):
    def read(self, size: int = -1) -> bytes: ...
    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int: ...


def open_zstandard(archive: _Archive, member: zipfile.ZipInfo) -> BinaryIO:
    """A stream of the member's bytes, never more than declared, checked against its sum.

    Raises:
        zipfile.BadZipFile: its header is damaged; while reading, also its content.
    """
    start = start_of_member(archive, member)
    packed = io.BufferedReader(_Slice(archive, start, member.compress_size), _CHUNK)
    decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)
    # Streams of several frames occur.
    content = decompressor.stream_reader(packed, read_across_frames=True)
    return cast(BinaryIO, io.BufferedReader(_Checked(content, member), _CHUNK))


def start_of_member(archive: _Archive, member: zipfile.ZipInfo) -> int:
    """Where the bytes of a member begin. Raises zipfile.BadZipFile if its header is damaged."""
    archive.seek(member.header_offset)
    header = archive.read(_LOCAL.size)
    if len(header) < _LOCAL.size or not header.startswith(LOCAL_MAGIC):
        raise zipfile.BadZipFile("no header where the member should be")
    *_, name_length, extra_length = _LOCAL.unpack(header)
    return member.header_offset + _LOCAL.size + int(name_length) + int(extra_length)


class _Slice(io.RawIOBase):
    """Part of a file that others read too: each read seeks."""

    def __init__(self, archive: _Archive, start: int, length: int) -> None:
        self._archive = archive
        self._at = start
        self._end = start + length

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(cast(bytearray, buffer))
        self._archive.seek(self._at)
        content = self._archive.read(min(len(view), self._end - self._at))
        view[: len(content)] = content
        self._at += len(content)
        return len(content)


class _Checked(io.RawIOBase):
    """What comes out of a frame, held to what the zip's listing says of it."""

    def __init__(self, content: zstandard.ZstdDecompressionReader, member: zipfile.ZipInfo) -> None:
        self._content = content
        self._member = member
        self._total = 0
        self._sum = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(cast(bytearray, buffer))
        try:
            content = self._content.read(len(view))
        except zstandard.ZstdError as error:
            raise zipfile.BadZipFile(f"not Zstandard, or damaged: {error}") from error
        self._total += len(content)
        self._sum = zlib.crc32(content, self._sum)
        if self._total > self._member.file_size:
            raise zipfile.BadZipFile("more bytes than declared")
        if not content and (self._total, self._sum) != (self._member.file_size, self._member.CRC):
            raise zipfile.BadZipFile("cut short, or not what its sum says")
        view[: len(content)] = content
        return len(content)
