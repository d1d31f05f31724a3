"""Zip archives and gzip, read as streams with every size checked while reading."""

from __future__ import annotations

import io
import stat
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import BinaryIO

from webagent.trajectory.bounds import BoundError, Bounds
from webagent.trajectory.bundles import Problem
from webagent.trajectory.trees import TreeError, why_name_is_refused

GZIP_MAGIC = b"\x1f\x8b"
CENTRAL_HEADER = b"PK\x01\x02"
CENTRAL_HEADER_BYTES = 300
"""Honest entries stay under this on average: 46 bytes and the name, stored once."""


class ZipTree:
    """A zip archive. Nothing is ever extracted: members are streamed by name.

    Raises (on opening):
        BoundError: too large, too many members, or a decompression bomb.
        TreeError: not a readable zip.
    """

    def __init__(self, given: Path | BinaryIO, bounds: Bounds, label: str) -> None:
        self.label = label
        self._bounds = bounds
        self._file = _CheckedFile(given, bounds)
        try:
            self._zip = zipfile.ZipFile(self._file)
        except BoundError:
            self._file.close()
            raise
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            self._file.close()
            raise TreeError(f"not a readable zip: {error}") from error
        self._problems: list[Problem] = []
        self._members = self._accept(self._zip.infolist())
        self.names = tuple(sorted(self._members))
        self.problems = tuple(self._problems)

    def size(self, name: str) -> int:
        return self._members[name].file_size

    def open(self, name: str) -> BinaryIO:
        if name not in self._members:
            raise TreeError("not there")
        member = self._members[name]
        try:
            stream = self._zip.open(member)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError) as why:
            raise TreeError(f"damaged: {why}") from why
        return _MemberStream(stream, member, self._bounds)

    def close(self) -> None:
        self._zip.close()
        self._file.close()

    def _accept(self, members: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        bounds = self._bounds
        if len(members) > bounds.members:
            raise BoundError(f"more than {bounds.members} members")
        if sum(member.file_size for member in members) > bounds.total_bytes:
            raise BoundError(f"more than {bounds.total_bytes} bytes when decompressed")
        copies = Counter(member.filename for member in members)
        accepted = {}
        for member in members:
            if member.is_dir() and not member.file_size:
                continue
            _check_ratio(member.file_size, member.compress_size, bounds)
            reason = (
                "the name stands there twice"
                if copies[member.filename] > 1
                else _why_member_is_refused(member, bounds)
            )
            if reason:
                self._refuse(member.filename, reason)
            else:
                accepted[member.filename] = member
        return accepted

    def _refuse(self, name: str, reason: str) -> None:
        if len(self._problems) < self._bounds.problems:
            shown = name[:200].encode("utf-8", "replace").decode()
            self._problems.append(Problem(self.label, shown, "name", reason))


def gunzip(content: bytes, bounds: Bounds, limit: int) -> bytes:
    """The decompressed bytes of a gzip file, however many members it has.

    Raises:
        BoundError: more than `limit` bytes, or compressed suspiciously well.
        TreeError: damaged or cut short.
    """
    out, total, rest = [], 0, content
    while rest:
        inflate = zlib.decompressobj(wbits=31)
        while not inflate.eof:
            try:
                piece = inflate.decompress(rest, 1 << 20)
            except zlib.error as error:
                raise TreeError(f"not gzip, or damaged: {error}") from error
            rest = inflate.unconsumed_tail
            total += len(piece)
            if total > limit:
                raise BoundError(f"more than {limit} bytes when decompressed")
            _check_ratio(total, len(content), bounds)
            out.append(piece)
            if not piece and not rest and not inflate.eof:
                raise TreeError("cut short")
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
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"compression method {member.compress_type} is not read"
    if member.file_size > bounds.member_bytes:
        return f"more than {bounds.member_bytes} bytes"
    # zipfile cuts names at NUL and turns the platform's separator into "/".
    return why_name_is_refused(member.orig_filename, bounds)


def _check_ratio(size: int, packed: int, bounds: Bounds) -> None:
    if size > bounds.ratio_from_bytes and size > bounds.ratio * max(packed, 1):
        raise BoundError(f"decompresses to more than {bounds.ratio} times its size")


class _MemberStream(io.RawIOBase, BinaryIO):  # type: ignore[misc]
    """A member's bytes, stopped as soon as it grows beyond what is allowed."""

    def __init__(self, inner: BinaryIO | zipfile.ZipExtFile, member: zipfile.ZipInfo, bounds: Bounds) -> None:
        super().__init__()
        self._inner = inner
        self._member = member
        self._bounds = bounds
        self._total = 0
