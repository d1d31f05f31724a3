"""Taking in files that people upload; they are looked at or imported in the background."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.db import transaction
from django.db.models import QuerySet

from runs.models import ImportJob, User
from runs.tasks import dispatch_imports


class GoneError(Exception):
    """The file is not kept any more, or somebody has decided over it."""


def start_import(
    *,
    file: UploadedFile[Any],
    user: User,
    format: str,
    experiment_name: str = "",
    only_looks: bool = False,
) -> ImportJob:
    """Keep the file and have it imported; the row whose page shows how that goes.

    With `only_looks` nothing is stored until `import_after_look`.

    Raises:
        OSError: the file cannot be kept, for instance because the disk is full.
    """
    job_id = uuid.uuid4()
    path = settings.UPLOAD_DIR / f"{job_id}.zip"
    try:
        _keep(file, path)
        with transaction.atomic():
            job = ImportJob.objects.create(
                id=job_id,
                created_by=user,
                file_name=Path(file.name or "upload.zip").name[:255],
                path=str(path),
                size=path.stat().st_size,
                format=format,
                experiment_name=experiment_name,
                only_looks=only_looks,
            )
            transaction.on_commit(dispatch_imports)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return job


@transaction.atomic
def import_after_look(*, job: ImportJob, answers: Mapping[str, str]) -> None:
    """Have a file imported that was looked at.

    Raises:
        GoneError: the file is gone.
    """
    if not Path(job.path).exists() or not _looked_at(job).update(
        state=ImportJob.State.QUEUED,
        only_looks=False,
        answers=dict(answers),
        n_done=0,
        n_done_at_claim=0,
        n_barren=0,
        dispatched_at=None,
        ended_at=None,
    ):
        raise GoneError
    transaction.on_commit(dispatch_imports)


def discard_after_look(*, job: ImportJob) -> None:
    """Delete a file that was looked at; its survey stays.

    Raises:
        GoneError: somebody has decided otherwise.
    """
    if not _looked_at(job).update(state=ImportJob.State.CANCELLED):
        raise GoneError
    Path(job.path).unlink(missing_ok=True)


def _looked_at(job: ImportJob) -> QuerySet[ImportJob]:
    return ImportJob.objects.filter(pk=job.pk, only_looks=True, state=ImportJob.State.FINISHED)


def _keep(file: UploadedFile[Any], path: Path) -> None:
    """Give the file its place; what was streamed to disk is moved, not copied."""
    if isinstance(file, TemporaryUploadedFile):
        os.replace(file.temporary_file_path(), path)
        return
    with path.open("xb") as out:
        for chunk in file.chunks():
            out.write(chunk)
