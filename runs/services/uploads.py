"""Taking in files that people upload; they are imported in the background."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.db import transaction

from runs.models import ImportJob, User
from runs.tasks import dispatch_imports


def start_import(
    *, file: UploadedFile[Any], user: User, format: str, experiment_name: str = ""
) -> ImportJob:
    """Keep the file and have it imported; the row whose page shows how that goes.

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
            )
            transaction.on_commit(dispatch_imports)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return job


def _keep(file: UploadedFile[Any], path: Path) -> None:
    """Give the file its place; what was streamed to disk is moved, not copied."""
    if isinstance(file, TemporaryUploadedFile):
        os.replace(file.temporary_file_path(), path)
        return
    with path.open("xb") as out:
        for chunk in file.chunks():
            out.write(chunk)
