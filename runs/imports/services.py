"""Files that people upload: taken in, and kept for the worker that looks at them or imports them.

Where blobs lie in a bucket, uploads do too: the worker may be on another machine. A row keeps
its file's place, which tells where it is: a path, or a name in the bucket.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.db import transaction

from runs.accounts.audit_log import record_entry
from runs.models import ImportJob, User
from runs.models.audit_log import (
    IMPORT_DISCARDED,
    IMPORT_STARTED,
    UPLOAD_DELETED,
    UPLOAD_READ_AGAIN,
)
from runs.models.imports import SentFile
from runs.queue.workers import dispatch
from runs.storage.file_storage import blob_storage

if TYPE_CHECKING:
    from runs.storage.s3 import S3BlobStorage

IMPORT_UPLOAD = "runs.tasks.import_upload"
FOLDER = "uploads"
IN_BUCKET = "bucket:"
"""What the place of a file in the bucket begins with."""
F = TypeVar("F", bound=SentFile)
Dispatch = Callable[[], object]
"""Tells the workers of files that wait."""
AFTER_LOOK: dict[str, Any] = {
    "only_looks": False,
    "n_done": 0,
    "n_done_at_claim": 0,
    "n_barren": 0,
    "dispatched_at": None,
    "ended_at": None,
}
"""Columns of a file that was looked at, once it is queued to be stored."""


class GoneError(Exception):
    """The file is not kept any more, or somebody has decided over it."""


def keep_sent(
    kind: type[F], *, file: UploadedFile[Any], ending: str, dispatch: Dispatch, **columns: Any
) -> F:
    """Keep the file and have it taken up; the row whose page shows how that goes.

    Raises:
        OSError: the file cannot be kept, for instance because the disk is full.
        StoreUnavailableError: it cannot be kept now.
    """
    name = Path(file.name or "upload").name[:255]
    sent = kind(file_name=name, size=file.size or 0, **columns)
    with _keeping_upload(file, f"{sent.pk}.{ending}") as sent.path, transaction.atomic():
        sent.save(force_insert=True)
        record_entry(IMPORT_STARTED, about=sent, words=name, user=sent.created_by)
        transaction.on_commit(dispatch)
    return sent


def queue_after_look(sent: SentFile, dispatch: Dispatch, **columns: Any) -> None:
    """Have a file stored that was looked at. Inside a transaction.

    Raises:
        GoneError: the file is gone, or somebody has decided over it.
    """
    columns |= AFTER_LOOK | {"state": sent.State.QUEUED}
    if not is_kept(sent.path) or not sent.looked_at().update(**columns):
        raise GoneError
    transaction.on_commit(dispatch)


@transaction.atomic
def reject_after_look(sent: SentFile) -> bool:
    """Note that a file which was looked at is not stored; False if somebody has decided before."""
    if not sent.looked_at().update(state=sent.State.CANCELLED):
        return False
    record_entry(IMPORT_DISCARDED, about=sent, words=sent.file_name)
    return True


def start_import(
    *,
    file: UploadedFile[Any],
    user: User,
    format: str,
    experiment_name: str = "",
    only_looks: bool = False,
    keeps_file: bool = True,
) -> ImportJob:
    """Keep the file and have it imported; the row whose page shows how that goes.

    With `only_looks` nothing is stored until `import_after_look`. With `keeps_file` it can be
    read again later, if uploads are kept here at all. Raises as `keep_sent`.
    """
    return keep_sent(
        ImportJob,
        file=file,
        ending="zip",
        dispatch=dispatch_imports,
        created_by=user,
        format=format,
        experiment_name=experiment_name,
        only_looks=only_looks,
        keeps_file=keeps_file and settings.ENV.UPLOAD_KEEP_DAYS > 0,
    )


def dispatch_imports() -> None:
    """Tell the workers of imports that wait."""
    dispatch(ImportJob, IMPORT_UPLOAD)


@transaction.atomic
def import_after_look(*, job: ImportJob, answers: Mapping[str, str]) -> None:
    """Have a file imported that was looked at.

    Raises:
        GoneError: the file is gone, or somebody has decided over it.
    """
    queue_after_look(job, dispatch_imports, answers=dict(answers))
    record_entry(IMPORT_STARTED, about=job, words=job.file_name)


def discard_after_look(*, job: ImportJob) -> None:
    """Delete a file that was looked at, unless it rests here for another import; the survey stays.

    Raises:
        GoneError: somebody has decided otherwise.
    """
    if not reject_after_look(job):
        raise GoneError
    if not job.reads_again_id:
        drop_upload(job.path)


@transaction.atomic
def read_again(*, job: ImportJob, user: User) -> ImportJob:
    """Look at the file of an earlier import once more; the row that waits for a word then.

    One that is on its way already is taken instead of a second.

    Raises:
        GoneError: the file is not kept any more.
    """
    first = ImportJob.objects.select_for_update().get(pk=job.pk)
    if not first.owns_kept_file or not is_kept(first.path):
        raise GoneError
    if reading := first.readings.active().first():
        return reading
    reading = ImportJob.objects.create(
        created_by=user,
        file_name=first.file_name,
        path=first.path,
        size=first.size,
        format=first.format,
        experiment_name=first.experiment_name,
        answers=first.answers,
        only_looks=True,
        reads_again=first,
    )
    record_entry(UPLOAD_READ_AGAIN, about=reading, words=first.file_name)
    transaction.on_commit(dispatch_imports)
    return reading


def delete_file(*, job: ImportJob) -> None:
    """Delete the kept file of an import; its runs stay.

    Raises:
        GoneError: it is gone, or being read.
    """
    with transaction.atomic():
        first = ImportJob.objects.select_for_update().get(pk=job.pk)
        if not first.owns_kept_file or first.readings.active().exists():
            raise GoneError
        ImportJob.objects.filter(pk=first.pk).update(keeps_file=False)
        record_entry(UPLOAD_DELETED, about=first, words=first.file_name)
    drop_upload(first.path)


@contextmanager
def _keeping_upload(file: UploadedFile[Any], name: str) -> Iterator[str]:
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
