"""Imports in the background."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from runs.imports.importing import import_upload as carry_out
from runs.imports.importing import sweep_imports
from runs.imports.thumbnail_tasks import ask_for_thumbnails
from runs.models import ImportJob
from runs.queue.messages import dispatch
from runs.queue.sweeping import swept

IMPORT_UPLOAD = "runs.tasks.import_upload"


@shared_task(name=IMPORT_UPLOAD)
def import_upload(job_id: str) -> None:
    """Import the uploaded file at most once: a second delivery finds nothing to claim."""
    if carry_out(UUID(job_id)):
        dispatch(ImportJob, IMPORT_UPLOAD, most_again=1)
    ask_for_thumbnails()


swept(sweep_imports)


@swept
def dispatch_imports() -> None:
    """Tell the workers of imports that wait."""
    dispatch(ImportJob, IMPORT_UPLOAD)
