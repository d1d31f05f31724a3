"""Imports and thumbnails in the background."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from runs.imports.importing import import_upload as carry_out
from runs.imports.importing import sweep_imports
from runs.imports.thumbnailing import make_thumbnails as make
from runs.imports.thumbnailing import thumbnails_wait
from runs.models import ImportJob
from runs.queue.sweeping import swept
from runs.queue.workers import ask_for, dispatch

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


MAKE_THUMBNAILS = "runs.tasks.make_thumbnails"
AT_ONE_GO_S = 30
"""Other work of the queue waits no longer than this."""


@shared_task(name=MAKE_THUMBNAILS)
def make_thumbnails() -> None:
    """Make some; the sweep asks again while any wait."""
    make(limit_s=AT_ONE_GO_S)


@swept
def ask_for_thumbnails() -> None:
    """Have those made that wait. What nobody hears is asked again at the next sweep."""
    if thumbnails_wait():
        ask_for(MAKE_THUMBNAILS)
