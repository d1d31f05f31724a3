"""Files of the store, out to a folder and in again. A name stands for one content for ever."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from django.core.files.storage import Storage

from runs.models import Blob
from runs.operations.backups.contract import BackupError
from runs.storage.blobs import storage_name
from runs.storage.file_storage import UNFINISHED, blob_storage


def copy_new_files(
    folder: Path, *, on_file: Callable[[], object] = lambda: None
) -> tuple[int, int]:
    """Copy what is not there yet; how many files and bytes that were."""
    n_files = n_bytes = 0
    store = blob_storage()
    for file in store.walk():
        on_file()
        target = folder / file.name
        if file.name.endswith(UNFINISHED) or _is_there(target, file.size):
            continue
        try:
            _copy_out(store, file.name, target)
        except FileNotFoundError:
            continue  # deleted meanwhile, as no row names it
        n_files += 1
        n_bytes += file.size
    return n_files, n_bytes


def missing_files(folder: Path) -> Iterator[str]:
    """Names of files that the database names and the folder does not hold."""
    for blob in Blob.objects.only("sha256", "compressed").iterator(chunk_size=2000):
        if not (folder / storage_name(blob)).is_file():
            yield blob.pk


def put_files_back(folder: Path) -> int:
    """Put every file that the database names into the store; how many were put there.

    Raises:
        BackupError: files are missing in the folder. Nothing was put back then.
    """
    missing = list(missing_files(folder))
    if missing:
        named = ", ".join(missing[:3])
        raise BackupError(f"{len(missing)} files are not in the backup: {named}")
    store, n_put = blob_storage(), 0
    there = {file.name: file.size for file in store.walk()}
    for blob in Blob.objects.only("sha256", "compressed").iterator(chunk_size=2000):
        name = storage_name(blob)
        source = folder / name
        if there.get(name) != source.stat().st_size:
            store.put(name, source.read_bytes())
            n_put += 1
    return n_put


def _is_there(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except FileNotFoundError:
        return False


def _copy_out(store: Storage, name: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(target.name + UNFINISHED)
    with store.open(name) as source, unfinished.open("wb") as copy:
        shutil.copyfileobj(source, copy, 1024 * 1024)
        copy.flush()
        os.fsync(copy.fileno())
    unfinished.replace(target)
