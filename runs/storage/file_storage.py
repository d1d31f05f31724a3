"""Where blobs lie: files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
import shutil
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from pathlib import Path
from typing import BinaryIO, cast

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, Storage, storages
from django.db import DatabaseError, InterfaceError, OperationalError

UNFINISHED = ".part"
"""Ending of files still being written; what a killed process left behind has it too."""
TRIES, MOMENT_S = 3, 0.01
FEW = 16
"""So many files and folders are synced one by one."""
Unsynced = dict[str, bool]
"""Paths that may not be on disk yet; True: a file that was not there before."""


class StoreUnavailableError(Exception):
    """The store does not answer, or refuses us: it is not known whether the file is there."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in the store."""

    name: str
    size: int
    modified: datetime


class BlobStorage(Storage):
    """A store whose names stand for one content each.

    Raises, from every method: FileNotFoundError where a file is not there, and
    StoreUnavailableError where that cannot be known.
    """

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """The name itself: names say what the content is."""
        return name

    @abstractmethod
    def put(self, name: str, content: bytes, unsynced: Unsynced | None = None) -> bool:
        """Store it, or renew the time of what is there already.

        Returns whether a clean-up may be deleting it at this moment all the same: then the
        writer looks again (`exists`) once the row that names it is written.

        Args:
            unsynced: where given, what `sync` has to make sure of before a row names the file is
                added to it: for many files at once that takes as long as for a few.
        """

    def sync(self, unsynced: Unsynced) -> None:
        """Make sure that these outlive a crash of the machine."""

    @abstractmethod
    def delete_if_older(self, name: str, before: datetime) -> bool:
        """Delete a file unless it was written or renewed at or after `before`."""

    @abstractmethod
    def walk(self, folder: str = "") -> Iterator[StoredFile]:
        """Every file, ordered by name, with few questions to the store."""

    def free_bytes(self) -> int | None:
        """Room that is left; None where nobody knows."""
        return None

    def address(self, name: str, *, seconds: int, headers: dict[str, str]) -> str | None:
        """Where a browser can fetch the file for so long; None if only through us.

        Args:
            headers: `Content-Type`, `Content-Disposition` and `Cache-Control` of the answer.
        """
        return None


def blob_storage() -> BlobStorage:
    """The store of blobs, as the settings say."""
    return cast(BlobStorage, storages["default"])


class BlobFileStorage(BlobStorage, FileSystemStorage):
    """The file system, with writes that are atomic and on disk before they are named.

    A name stands for one content, so a file that is already there is kept: only its time is
    renewed, which protects it from a clean-up that runs at this moment.
    """

    def put(self, name: str, content: bytes, unsynced: Unsynced | None = None) -> bool:
        """Store it. Here a clean-up looks at a file only after it moved it aside."""
        written = self._write(name, [content])
        if unsynced is None:
            self.sync(written)
        else:
            unsynced.update(written)
        return False

    def sync(self, unsynced: Unsynced) -> None:
        """Make sure that these outlive a crash of the machine. What cannot be is taken back.

        A few are synced one by one, many with all else that waits to be written to the disk.
        """
        try:
            if _syncfs is not None and len(unsynced) > FEW:
                _sync(self.path(""), _syncfs)
                return
            for path in unsynced:
                _sync(path, os.fsync)
        except OSError:
            for path, is_new_file in unsynced.items():
                if is_new_file:  # the system takes its pages for written from now on
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(path)
            raise

    def _save(self, name: str, content: File[bytes]) -> str:
        self.sync(self._write(name, content.chunks()))
        return name

    def _write(self, name: str, chunks: Iterable[bytes]) -> Unsynced:
        """The file has its name; what of it is not on disk yet."""
        path = self.path(name)
        unfinished = f"{path}.{secrets.token_hex(6)}{UNFINISHED}"
        folders = [os.path.dirname(path)]
        try:
            with _begun(unfinished, folders) as file:
                for chunk in chunks:
                    file.write(chunk)
            is_new = _name_it(unfinished, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(unfinished)
        return {path: is_new, **dict.fromkeys(folders, False)}

    def delete_if_older(self, name: str, before: datetime) -> bool:
        """Delete a file unless it was written or renewed at or after `before`.

        It is moved aside before it is looked at: a writer that comes meanwhile finds nothing
        and writes anew, so no content is lost that somebody has just stored.
        """
        path = Path(self.path(name))
        aside = path.with_name(f"{path.name}.{secrets.token_hex(6)}{UNFINISHED}")
        try:
            path.rename(aside)
        except FileNotFoundError:
            return False
        if aside.stat().st_mtime < before.timestamp():
            aside.unlink()
            return True
        with contextlib.suppress(FileExistsError):
            os.link(aside, path)
        aside.unlink()
        return False

    def walk(self, folder: str = "") -> Iterator[StoredFile]:
        """Every file, one folder in memory at a time."""
        with contextlib.suppress(FileNotFoundError):
            with os.scandir(self.path(folder)) as entries:
                # As the whole names are ordered, in which a folder's ends in a slash.
                named = {
                    f"{entry.name}/" if entry.is_dir() else entry.name: entry for entry in entries
                }
            for name in sorted(named):
                if name.endswith("/"):
                    yield from self.walk(f"{folder}{name}")
                    continue
                with contextlib.suppress(FileNotFoundError):  # renamed meanwhile
                    facts = named[name].stat()
                    modified = datetime.fromtimestamp(facts.st_mtime, tz=UTC)
                    yield StoredFile(f"{folder}{name}", facts.st_size, modified)

    def free_bytes(self) -> int | None:
        """Room on its disk."""
        folder = Path(self.location)
        return shutil.disk_usage(next(p for p in (folder, *folder.parents) if p.exists())).free


def _begun(path: str, folders: list[str]) -> BinaryIO:
    """A file to write. `folders` gets those in which names are new, where its own was missing."""
    try:
        return open(path, "wb")
    except FileNotFoundError:
        folders += _make_folder(os.path.dirname(path))
        return open(path, "wb")


def _make_folder(folder: str) -> list[str]:
    """Make it, with those above it; the folders in which names are new by that."""
    above = os.path.dirname(folder)
    try:
        os.mkdir(folder)
    except FileExistsError:
        pass  # made this moment, and maybe not on disk yet
    except FileNotFoundError:
        return [*_make_folder(above), *_make_folder(folder)]
    return [above]


def _sync(path: str, sync: Callable[[int], object]) -> None:
    for tries_left in reversed(range(TRIES)):
        try:
            descriptor = os.open(path, os.O_RDONLY)
            break
        except FileNotFoundError:  # a clean-up has it aside for a moment
            if not tries_left:
                raise
            time.sleep(MOMENT_S)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def _find_syncfs() -> Callable[[int], None] | None:
    """What writes a whole file system to its disk; None where the C library has no such thing."""
    try:
        function = ctypes.CDLL(None, use_errno=True).syncfs
    except (OSError, AttributeError):
        return None

    def syncfs(descriptor: int) -> None:
        if function(descriptor):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    return syncfs


_syncfs = _find_syncfs()


def _name_it(unfinished: str, path: str) -> bool:
    """Give the finished file its name; whether it is new under that.

    One of another size that is there was damaged: it is replaced.
    """
    while True:
        try:
            os.link(unfinished, path)
            return True
        except FileExistsError:
            # A clean-up may take it away between two of these calls: then it is written anew.
            with contextlib.suppress(FileNotFoundError):
                if os.path.getsize(path) == os.path.getsize(unfinished):
                    os.utime(path)
                else:
                    os.replace(unfinished, path)
                return False
        except PermissionError:  # a file system without hard links
            os.replace(unfinished, path)
            return False


RETRY_AFTER_S = 5
"""How long to wait before one asks again."""

FULL = ("disk is full", "no space left on device", "disk quota exceeded")
"""What SQLite, PostgreSQL and systems say where there is no room."""


class Outage(Enum):
    """What is missing. Nothing was stored of what broke on it."""

    ROOM = auto()
    DATABASE = auto()
    FILES = auto()


def outage(error: BaseException | None) -> Outage | None:
    """What was missing; None where the error has another cause."""
    if is_of_full_disk(error):
        return Outage.ROOM
    if isinstance(error, StoreUnavailableError):
        return Outage.FILES
    if isinstance(error, OperationalError | InterfaceError):
        return Outage.DATABASE
    return None


def is_of_full_disk(error: BaseException | None) -> bool:
    """Whether the error says that there is no room left."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    said = str(error).lower()
    return isinstance(error, DatabaseError) and any(words in said for words in FULL)
