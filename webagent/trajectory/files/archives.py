"""Zip archives and gzip, read as streams with every size checked while reading."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import IO, BinaryIO, cast

import zstandard

from webagent.trajectory.files.trees import (
    AT_ONCE_BYTES,
    READ_CHUNK,
    READ_ERRORS,
    NamedFiles,
    Refusals,
    TreeError,
    why_name_is_refused,
)
from webagent.trajectory.intake import BoundError, Bounds, check_ratio

LOCAL_MAGIC = b"PK\x03\x04"
LOCAL_HEADER = struct.Struct("<4s5H3L2H")
ZSTANDARD = 93
MAX_WINDOW = 1 << 27
"""Memory that one frame may ask for: the most that writers use without being told to."""
_PIECE = 1 << 16


def open_zstandard(archive: _CheckedFile, member: zipfile.ZipInfo) -> BinaryIO:
    """A stream of the member's bytes, never more than declared, checked against its sum.

    Raises:
        zipfile.BadZipFile: its header is damaged; while reading, also its content.
    """
    start = start_of_member(archive, member)
    packed = io.BufferedReader(_Slice(archive, start, member.compress_size), _PIECE)
    decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)
    # Streams of several frames occur.
    content = decompressor.stream_reader(packed, read_across_frames=True)
    return cast(BinaryIO, io.BufferedReader(_Checked(content, member), _PIECE))


def start_of_member(archive: _CheckedFile, member: zipfile.ZipInfo) -> int:
    """Where the bytes of a member begin. Raises zipfile.BadZipFile if its header is damaged."""
    archive.seek(member.header_offset)
    header = archive.read(LOCAL_HEADER.size)
    if len(header) < LOCAL_HEADER.size or not header.startswith(LOCAL_MAGIC):
        raise zipfile.BadZipFile("no header where the member should be")
    *_, name_length, extra_length = LOCAL_HEADER.unpack(header)
    return member.header_offset + LOCAL_HEADER.size + int(name_length) + int(extra_length)


class _Slice(io.RawIOBase):
    """Part of a file that others read too: each read seeks."""

    def __init__(self, archive: _CheckedFile, start: int, length: int) -> None:
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


GZIP_MAGIC = b"\x1f\x8b"
CENTRAL_HEADER = b"PK\x01\x02"
CENTRAL_HEADER_BYTES = 300
"""Honest entries stay under this on average: 46 bytes and the name, stored once."""
NAME_SHOWN = 200
"""Characters of a refused name in reports."""
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, ZSTANDARD)
GZIP_MEMBERS = 100
"""Honest files have one; each further one costs a copy of all that is left of the file."""


class ZipTree(NamedFiles[zipfile.ZipInfo]):
    """A zip archive. Nothing is ever extracted: members are streamed by name.

    Raises (on opening):
        BoundError: too large, too many members, or a decompression bomb.
        TreeError: not a readable zip.
    """

    def __init__(self, given: Path | BinaryIO, bounds: Bounds, label: str) -> None:
        refusals = Refusals(label, bounds)
        self._archive = _CheckedFile(given, bounds)
        try:
            self._zip = zipfile.ZipFile(cast(IO[bytes], self._archive))
            self._archive.lists = False
            members = _accepted(self._zip.infolist(), bounds, refusals)
        except BoundError:
            self._archive.close()
            raise
        except READ_ERRORS as error:
            self._archive.close()
            raise TreeError(f"cannot be read: {error}") from error
        super().__init__(label, members, refusals.problems)

    def close(self) -> None:
        self._zip.close()
        self._archive.close()

    def _size(self, file: zipfile.ZipInfo) -> int:
        return file.file_size

    def _stream(self, file: zipfile.ZipInfo) -> BinaryIO:
        try:
            if file.compress_type == ZSTANDARD:
                return open_zstandard(self._archive, file)
            if file.compress_type == zipfile.ZIP_STORED and file.file_size <= AT_ONCE_BYTES:
                return io.BytesIO(self._stored(file, is_summed=True))
            # zipfile never hands out more than the declared size, which was checked on opening.
            # It looks for the end of a line a few bytes at a time.
            packed = cast(io.RawIOBase, self._zip.open(file))
            return cast(BinaryIO, io.BufferedReader(packed, READ_CHUNK))
        except (*READ_ERRORS, RuntimeError) as error:
            raise TreeError(f"cannot be read: {error}") from error

    def hashed(self, name: str) -> bytes | None:
        file = self._files.get(name)
        if not file or file.compress_type != zipfile.ZIP_STORED or file.file_size > AT_ONCE_BYTES:
            return None
        try:
            return self._stored(file, is_summed=False)
        except (*READ_ERRORS, RuntimeError) as error:
            raise TreeError(f"cannot be read: {error}") from error

    def _stored(self, member: zipfile.ZipInfo, *, is_summed: bool) -> bytes:
        """All of a member that is not compressed, without the detours of `zipfile`."""
        self._archive.seek(start_of_member(self._archive, member))
        content = self._archive.read(member.file_size)
        if len(content) != member.file_size or is_summed and zlib.crc32(content) != member.CRC:
            raise zipfile.BadZipFile("cut short, or not what its sum says")
        return content


def _accepted(
    members: list[zipfile.ZipInfo], bounds: Bounds, refusals: Refusals
) -> dict[str, zipfile.ZipInfo]:
    if len(members) > bounds.members:
        raise BoundError(f"more than {bounds.members} members")
    if sum(member.file_size for member in members) > bounds.total_bytes:
        raise BoundError(f"more than {bounds.total_bytes} bytes when decompressed")
    copies = Counter(member.filename for member in members)
    accepted = {}
    for member in members:
        if member.is_dir() and not member.file_size:
            continue
        check_ratio(member.file_size, member.compress_size, bounds)
        if copies[member.filename] > 1:
            refusals.add(member.filename[:NAME_SHOWN], "appears twice")
        elif reason := _why_member_is_refused(member, bounds):
            refusals.add(member.filename[:NAME_SHOWN], reason)
        else:
            accepted[member.filename] = member
    return accepted


def gunzip(content: bytes, bounds: Bounds, limit: int) -> bytes:
    """The decompressed bytes of a gzip file, however many members it has.

    Raises:
        BoundError: more than `limit` bytes, too many members, or compressed suspiciously well.
        TreeError: damaged or cut short.
    """
    out, total, members, rest = [], 0, 0, content
    while rest:
        members += 1
        if members > GZIP_MEMBERS:
            raise BoundError(f"more than {GZIP_MEMBERS} gzip members")
        inflate = zlib.decompressobj(wbits=31)
        while not inflate.eof:
            try:
                piece = inflate.decompress(rest, 1 << 20)
            except zlib.error as error:
                raise TreeError(f"cannot be read: {error}") from error
            rest = inflate.unconsumed_tail
            total += len(piece)
            if total > limit:
                raise BoundError(f"more than {limit} bytes when decompressed")
            check_ratio(total, len(content), bounds)
            out.append(piece)
            if not piece and not rest and not inflate.eof:
                raise TreeError("cut short: the end is missing")
        rest = inflate.unused_data.lstrip(b"\0")
    return b"".join(out)


def _why_member_is_refused(member: zipfile.ZipInfo, bounds: Bounds) -> str | None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "symbolic link"
    if kind not in (0, stat.S_IFREG):
        return "not a regular file"
    if member.flag_bits & 0x1:
        return "encrypted"
    if member.compress_type not in _METHODS:
        return f"compression method {member.compress_type} is not read"
    if member.file_size > bounds.member_bytes:
        return f"more than {bounds.member_bytes} bytes"
    # zipfile cuts names at NUL and turns the platform's separator into "/".
    return why_name_is_refused(member.orig_filename, bounds)


class _CheckedFile:
    """The archive's own bytes, refusing a listing of members that is too long to hold."""

    def __init__(self, given: Path | BinaryIO, bounds: Bounds) -> None:
        self.lists = True
        """Whether the listing is being read, of which there is one large read."""
        self._owned = isinstance(given, Path)
        self._file = given.open("rb") if isinstance(given, Path) else given
        self._members = bounds.members
        self._listing_bytes = bounds.members * CENTRAL_HEADER_BYTES
        try:
            size = self._file.seek(0, io.SEEK_END)
        except OSError as error:
            raise TreeError(f"cannot be read: {error}") from error
        if size > bounds.upload_bytes:
            self.close()
            raise BoundError(f"more than {bounds.upload_bytes} bytes")

    def read(self, size: int = -1) -> bytes:
        if self.lists and size > self._listing_bytes:
            raise BoundError(f"more than {self._members} members")
        content = self._file.read(size)
        if (
            self.lists
            and len(content) > (1 << 20)
            and content.count(CENTRAL_HEADER) > self._members
        ):
            raise BoundError(f"more than {self._members} members")
        return content

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        if self._owned:
            self._file.close()
