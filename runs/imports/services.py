"""Taking in files that people upload; they are looked at or imported in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from runs.accounts.audit_log import record_entry
from runs.imports.importing import dispatch_imports
from runs.imports.kept_uploads import drop_upload, is_kept, keeping_upload
from runs.models import ImportJob, User
from runs.models.audit_log import (
    IMPORT_DISCARDED,
    IMPORT_STARTED,
    UPLOAD_DELETED,
    UPLOAD_READ_AGAIN,
)
from runs.models.imports import SentFile

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
    with keeping_upload(file, f"{sent.pk}.{ending}") as sent.path, transaction.atomic():
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
