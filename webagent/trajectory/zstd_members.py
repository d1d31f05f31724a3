"""Members of a zip that are compressed with Zstandard (method 93), which `zipfile` cannot read."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import BinaryIO, Protocol, cast

import zstandard

METHOD = 93
MAX_WINDOW = 1 << 27
"""Memory that one frame may ask for: the most that writers use without being told to."""

_LOCAL = struct.Struct("<4s5H3L2H")
_MAGIC = b"PK\x03\x04"
_CHUNK = 1 << 16


class _Archive(Protocol):
    def read(self, size: int = -1) -> bytes: ...
    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int: ...


def open_member(archive: _Archive, member: zipfile.ZipInfo) -> BinaryIO:
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
    if len(header) < _LOCAL.size or not header.startswith(_MAGIC):
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
