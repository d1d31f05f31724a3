"""Carrying out the import of an uploaded file, once, whoever dies over it."""

from __future__ import annotations

import logging
import time
from functools import partial
from pathlib import Path
from uuid import UUID

from django.conf import settings

from runs.bounds import import_bounds
from runs.execution.pulse import Pulse
from runs.execution.storing import ImportedRun, import_runs
from runs.import_reports import ImportReport
from runs.models import ImportJob
from webagent.trajectory.reading import Rejection, open_runs

logger = logging.getLogger(__name__)

DIED = "The worker died again and again while it imported this file; nothing more will be tried."


class ImportLostError(Exception):
    """The lease ran out and another worker has the import now."""


def import_upload(job_id: UUID) -> bool:
    """Import an uploaded file; False if it was not there to be had (a second message, say).

    Runs are stored one by one, so a worker that takes up after a dead one finds them there.
    """
    env = settings.ENV
    job = ImportJob.objects.claim(job_id, lease_s=env.LEASE_S, max_claims=env.MAX_ATTEMPTS)
    if job is None:
        return False
    try:
        with Pulse(partial(_note, job), lost=ImportLostError):
            status, changes = _import(job)
        if not ImportJob.objects.end(job.pk, job.lease_token, status=status, **changes):
            raise ImportLostError
    except ImportLostError:
        logger.warning("The import of %s was taken over by another worker.", job.file_name)
    else:
        Path(job.path).unlink(missing_ok=True)
    return True


def sweep_imports() -> None:
    """Fail what cannot be imported, and delete uploads that nobody needs any more."""
    ImportJob.objects.give_up(max_claims=settings.ENV.MAX_ATTEMPTS, error=DIED)
    jobs = {job.path: job.is_active for job in ImportJob.objects.only("path", "status")}
    long_ago = time.time() - settings.ENV.ORPHAN_GRACE_S
    for path in settings.UPLOAD_DIR.iterdir():
        is_active = jobs.get(str(path), path.stat().st_mtime > long_ago)
        if not is_active:
            path.unlink(missing_ok=True)


def _note(job: ImportJob, **changes: int) -> None:
    """Write progress, and keep the import.

    Raises:
        ImportLostError: another worker has it.
    """
    held = ImportJob.objects.renew(job.pk, job.lease_token, lease_s=settings.ENV.LEASE_S, **changes)
    if not held:
        raise ImportLostError


def _import(job: ImportJob) -> tuple[str, dict[str, object]]:
    """Status and last changes of the import. Raises ImportLostError."""
    report = ImportReport()
    try:
        with open_runs(
            Path(job.path), format=job.format, bounds=import_bounds(), label=job.file_name
        ) as source:
            _note(job, n_found=source.total, n_done=0)
            found = import_runs(
                source, experiment_name=job.experiment_name or None, user=job.created_by
            )
            for item in found:
                report.add(item)
                # Hostile files may bring problems without end; only runs are progress.
                if isinstance(item, ImportedRun | Rejection):
                    _note(job, n_done=report.n_done)
    except ImportLostError:
        raise
    except Exception as error:  # noqa: BLE001 (a fault of ours must not look like a dead worker)
        logger.exception("The import of %s broke.", job.file_name)
        reason = f"{type(error).__name__}: {error}"
        return ImportJob.Status.FAILED, {"report": report.summary(), "error": reason}
    return ImportJob.Status.FINISHED, {"report": report.summary(), "n_done": report.n_done}
