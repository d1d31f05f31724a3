"""Where blobs lie: files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from datetime import datetime
from pathlib import Path

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage

UNFINISHED = ".part"
"""Ending of files still being written; what a killed process left behind has it too."""


class BlobFileStorage(FileSystemStorage):
    """The file system, with writes that are atomic and on disk before they are named.

    A name stands for one content, so a file that is already there is kept: only its time is
    renewed, which protects it from a clean-up that runs at this moment.
    """

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """The name itself: names say what the content is."""
        return name

    def _save(self, name: str, content: File[bytes]) -> str:
        path = Path(self.path(name))
        new_folders = [folder for folder in path.parents if not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.{secrets.token_hex(6)}{UNFINISHED}")
        try:
            with unfinished.open("wb") as file:
                for chunk in content.chunks():
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            _name_it(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
        for folder in (path.parent, *(new.parent for new in new_folders)):
            _sync_folder(folder)
        return name

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


def _name_it(unfinished: Path, path: Path) -> None:
    """Give the finished file its name. One of another size there was damaged: it is replaced."""
    while True:
        try:
            os.link(unfinished, path)
            return
        except FileExistsError:
            # A clean-up may take it away between two of these calls: then it is written anew.
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_size == unfinished.stat().st_size:
                    os.utime(path)
                else:
                    unfinished.replace(path)
                return
        except PermissionError:  # a file system without hard links
            unfinished.replace(path)
            return


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
