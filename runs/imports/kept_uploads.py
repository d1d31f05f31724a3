"""Uploaded files on their way to the worker that imports them.

Where blobs lie in a bucket, uploads do too: the worker may be on another machine. A row keeps
its file's place, which tells where it is: a path, or a name in the bucket.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.utils import timezone

from runs.models import ImportJob
from runs.storage.file_storage import blob_storage

if TYPE_CHECKING:
    from runs.storage.s3 import S3BlobStorage

FOLDER = "uploads"
IN_BUCKET = "bucket:"
"""What the place of a file in the bucket begins with."""


@contextmanager
def keeping_upload(file: UploadedFile[Any], name: str) -> Iterator[str]:
    """Keep the file under a name that is new: its place, where it stays unless the block breaks.

    Raises:
        OSError: it cannot be kept, for instance because the disk is full.
        StoreUnavailableError: the bucket does not answer.
    """
    if bucket := _bucket():
        file.seek(0)
        bucket.put_file(name, cast(Any, file.file))
        place = f"{IN_BUCKET}{name}"
    else:
        place = str(settings.UPLOAD_DIR / name)
        _keep(file, Path(place))
    try:
        yield place
    except BaseException:
        drop_upload(place)
        raise


@contextmanager
def kept_upload(place: str) -> Iterator[Path]:
    """A path at which the file can be read while the block lasts.

    Raises:
        FileNotFoundError: it is gone.
        StoreUnavailableError: the bucket does not answer.
    """
    if not place.startswith(IN_BUCKET):
        yield Path(place)
        return
    with tempfile.NamedTemporaryFile(
        dir=settings.FILE_UPLOAD_TEMP_DIR, suffix=Path(place).suffix
    ) as copy:
        _demand_bucket().fetch(place.removeprefix(IN_BUCKET), cast(Any, copy))
        copy.flush()
        yield Path(copy.name)


def is_kept(place: str) -> bool:
    """Whether the file is still there."""
    if place.startswith(IN_BUCKET):
        return _demand_bucket().exists(place.removeprefix(IN_BUCKET))
    return Path(place).exists()


def drop_upload(place: str) -> None:
    """Delete the file; one that is gone already is no error."""
    if place.startswith(IN_BUCKET):
        _demand_bucket().delete(place.removeprefix(IN_BUCKET))
    else:
        Path(place).unlink(missing_ok=True)


def kept_places() -> Iterator[tuple[str, datetime]]:
    """Every kept file: its place, and when it was written."""
    for path in settings.UPLOAD_DIR.iterdir():
        yield str(path), datetime.fromtimestamp(path.stat().st_mtime, tz=UTC)
    if bucket := _bucket():
        for file in bucket.walk():
            yield f"{IN_BUCKET}{file.name}", file.modified


def _bucket() -> S3BlobStorage | None:
    """Where uploads go if not to a folder of this machine."""
    storage: Any = blob_storage()
    return storage.beside(FOLDER) if hasattr(storage, "beside") else None


def _demand_bucket() -> S3BlobStorage:
    bucket = _bucket()
    if bucket is None:
        raise FileNotFoundError("the file was kept in a bucket that is no longer used")
    return bucket


def _keep(file: UploadedFile[Any], path: Path) -> None:
    """Give the file its place; what was streamed to disk is moved, not copied."""
    if isinstance(file, TemporaryUploadedFile):
        os.replace(file.temporary_file_path(), path)
        return
    try:
        with path.open("xb") as out:
            for chunk in file.chunks():
                out.write(chunk)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def drop_unneeded() -> None:
    """Delete uploads that nobody needs any more."""
    long_ago = timezone.now() - timedelta(seconds=settings.ENV.ORPHAN_GRACE_S)
    here = dict(kept_places())
    known, needed = _jobs_of(here)
    for place, written_at in here.items():
        if place in needed or (place not in known and written_at > long_ago):
            continue
        drop_upload(place)
        ImportJob.objects.filter(path=place, keeps_file=True).update(keeps_file=False)


def drop_if_done_with(job: ImportJob) -> None:
    """Delete the file of an import that has just ended, unless it is to rest here."""
    if job.reads_again_id or job.awaits_confirmation or job.owns_kept_file:
        return
    drop_upload(job.path)


def _jobs_of(places: Collection[str]) -> tuple[set[str], set[str]]:
    """Those of the places that any import names, and those that are needed."""
    now = timezone.now()
    waits_since = now - timedelta(seconds=settings.ENV.ORPHAN_GRACE_S)
    rests_since = now - timedelta(days=settings.ENV.UPLOAD_KEEP_DAYS)
    room = settings.ENV.UPLOAD_KEEP_BYTES
    known, needed = set(), set()
    columns = ("path", "size", "state", "only_looks", "ended_at", "keeps_file", "reads_again_id")
    for job in ImportJob.objects.filter(path__in=places).only(*columns).order_by("-ended_at"):
        known.add(job.path)
        if job.is_active:
            needed.add(job.path)
        elif job.ended_at is None:
            continue
        elif job.awaits_confirmation and job.ended_at > waits_since:
            needed.add(job.path)
        elif job.owns_kept_file and job.ended_at > rests_since and job.size <= room:
            room -= job.size
            needed.add(job.path)
    return known, needed
