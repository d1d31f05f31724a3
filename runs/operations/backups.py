"""Making a backup of everything, and putting one back."""

import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.core.files.storage import Storage
from django.core.management import call_command
from django.db import connection

from runs.models import Blob, Run, User
from runs.operations.database_dumps import BackupError, PostgresqlDump, SqliteDump, count_rows
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


def put_files_back(folder: Path) -> int:
    """Put every file that the database names into the store; how many were put there.

    Raises:
        BackupError: files are missing in the folder. Nothing was put back then.
    """
    blobs = Blob.objects.only("sha256", "compressed")
    named = blobs.iterator(chunk_size=2000)
    if missing := [blob.pk for blob in named if not (folder / storage_name(blob)).is_file()]:
        first = ", ".join(missing[:3])
        raise BackupError(f"{len(missing)} files are not in the backup: {first}")
    store, n_put = blob_storage(), 0
    there = {file.name: file.size for file in store.walk()}
    for blob in blobs.iterator(chunk_size=2000):
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


BLOBS, SNAPSHOTS, MANIFEST = "blobs", "snapshots", "manifest.json"
UNFINISHED_SNAPSHOT = ".part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """One snapshot: when it began (UTC), of which database, and the rows of each table."""

    name: str
    database: str
    rows: dict[str, int]
    n_new_files: int
    new_bytes: int
    seconds: float


Tell = Callable[[str, int], object]


def back_up(folder: Path, *, keep: int | None = None, tell: Tell = lambda *_: None) -> Backup:
    """Add a snapshot to the folder. People and workers may go on meanwhile.

    First the files, then the rows, then the files that are new. A file is on disk before a row
    names it, so every file of a row of the snapshot is there when the second copying begins; and
    one that is deleted by then was copied by the first, since none is deleted that is younger
    than `ORPHAN_GRACE_S`.

    Args:
        keep: delete all but so many of the newest snapshots.
        tell: is told what is done now, and of every file that was looked at.

    Raises:
        BackupError: it cannot be done; what is there already stays.
    """
    begun = time.monotonic()
    name = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    with _alone(folder):
        first = copy_new_files(folder / BLOBS, on_file=lambda: tell("files", 1))
        tell("rows", 0)
        unfinished = folder / SNAPSHOTS / f"{name}{UNFINISHED_SNAPSHOT}"
        unfinished.mkdir(parents=True)
        rows = _dump().dump(unfinished)
        tell("new files", 0)
        then = copy_new_files(folder / BLOBS)
        backup = Backup(
            name=name,
            database=connection.vendor,
            rows=rows,
            n_new_files=first[0] + then[0],
            new_bytes=first[1] + then[1],
            seconds=round(time.monotonic() - begun, 1),
        )
        (unfinished / MANIFEST).write_text(json.dumps(asdict(backup), indent=1))
        unfinished.rename(folder / SNAPSHOTS / name)
        _forget_old(folder, keep)
    return backup


def snapshots(folder: Path) -> list[Backup]:
    """All that are whole, oldest first."""
    manifests = sorted((folder / SNAPSHOTS).glob(f"*Z/{MANIFEST}"))
    return [Backup(**json.loads(manifest.read_text())) for manifest in manifests]


def restore(folder: Path, *, name: str | None = None, overwrite: bool = False) -> Backup:
    """Put back a snapshot, the newest if none is named, and bring its schema up to this code.

    Raises:
        BackupError: there is none, it is of another kind of database, the database holds
            something and may not be overwritten, or rows or files are missing afterwards.
    """
    backup = _chosen(folder, name)
    if backup.database != connection.vendor:
        raise BackupError(f"the backup is of {backup.database}, this is {connection.vendor}")
    if not overwrite and _holds_something():
        raise BackupError("the database holds runs or accounts; say --overwrite to lose them")
    _dump().restore(folder / SNAPSHOTS / backup.name)
    _demand_same_rows(backup)
    put_files_back(folder / BLOBS)
    call_command("migrate", interactive=False, verbosity=0)
    return backup


def _demand_same_rows(backup: Backup) -> None:
    for table, n in backup.rows.items():
        if (found := count_rows(table)) != n:
            raise BackupError(f"{table} had {n} rows and has {found} now")


def _chosen(folder: Path, name: str | None) -> Backup:
    found = {backup.name: backup for backup in snapshots(folder)}
    if not found:
        raise BackupError(f"there is no snapshot in {folder}")
    if name is not None and name not in found:
        raise BackupError(f"there is no snapshot {name}; there are {', '.join(found)}")
    return found[name or max(found)]


def _holds_something() -> bool:
    tables = connection.introspection.table_names()
    models = (Run, User)
    return any(model._meta.db_table in tables and model._base_manager.exists() for model in models)


def _forget_old(folder: Path, keep: int | None) -> None:
    if keep is not None:
        for backup in snapshots(folder)[:-keep]:
            shutil.rmtree(folder / SNAPSHOTS / backup.name)
    for left in (folder / SNAPSHOTS).glob(f"*{UNFINISHED_SNAPSHOT}"):
        shutil.rmtree(left)


def _dump() -> PostgresqlDump | SqliteDump:
    return PostgresqlDump() if connection.vendor == "postgresql" else SqliteDump()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Refuses a second backup into the same folder while one is being made."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BackupError(f"another backup into {folder} is being made") from None
        yield
