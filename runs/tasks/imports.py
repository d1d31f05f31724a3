"""Imports in the background."""

from __future__ import annotations

import logging
from uuid import UUID

from celery import current_app, shared_task
from django.conf import settings
from kombu.exceptions import OperationalError

from runs.execution.importing import import_upload as carry_out
from runs.execution.importing import sweep_imports
from runs.models import ImportJob
from runs.tasks.sweeping import swept

logger = logging.getLogger(__name__)

IMPORT_UPLOAD = "runs.tasks.import_upload"


@shared_task(name=IMPORT_UPLOAD)
def import_upload(job_id: str) -> None:
    """Import the uploaded file at most once: a second delivery finds nothing to claim."""
    carry_out(UUID(job_id))


def dispatch_imports() -> None:
    """Tell the workers of imports that wait and whose message is missing or lost."""
    for job_id in ImportJob.objects.take_undispatched(older_than_s=settings.ENV.LEASE_S):
        try:
            current_app.send_task(IMPORT_UPLOAD, (str(job_id),), retry=False, queue="default")
        except OperationalError:
            logger.warning("The broker cannot be reached; an import waits for the next sweep.")


swept(sweep_imports)
swept(dispatch_imports)
