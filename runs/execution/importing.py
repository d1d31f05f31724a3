"""Carrying out the import of an uploaded file, once, whoever dies over it."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from uuid import UUID

from django.conf import settings

from runs.bounds import import_bounds
from runs.execution.holding import Hold, WorkLostError, sweep_work
from runs.execution.storing import ImportedRun, import_runs
from runs.import_reports import ImportReport
from runs.models import ImportJob
from webagent.trajectory.reading import Rejection, open_runs

logger = logging.getLogger(__name__)


def import_upload(job_id: UUID) -> bool:
    """Import an uploaded file; False if it was not there to be had (a second message, say).

    Runs are stored one by one, so a worker that takes up after a dead one finds them there.
    """
    job = ImportJob.objects.claim(job_id, lease_s=settings.ENV.LEASE_S)
    if job is None:
        return False
    hold = Hold(job)
    with hold.kept():
        state, changes = _import(job, hold)
        hold.end(state, **changes)
        Path(job.path).unlink(missing_ok=True)
    return True


def sweep_imports() -> None:
    """Fail what cannot be imported, and delete uploads that nobody needs any more."""
    sweep_work(ImportJob)
    jobs = {job.path: job.is_active for job in ImportJob.objects.only("path", "state")}
    long_ago = time.time() - settings.ENV.ORPHAN_GRACE_S
    for path in settings.UPLOAD_DIR.iterdir():
        is_active = jobs.get(str(path), path.stat().st_mtime > long_ago)
        if not is_active:
            path.unlink(missing_ok=True)


def _import(job: ImportJob, hold: Hold) -> tuple[ImportJob.State, dict[str, object]]:
    """State and last changes of the import. Raises WorkLostError."""
    report = ImportReport()
    try:
        with open_runs(
            Path(job.path), format=job.format, bounds=import_bounds(), label=job.file_name
        ) as source:
            hold.renew(n_total=source.total, n_done=0)
            found = import_runs(
                source, experiment_name=job.experiment_name or None, user=job.created_by
            )
            for item in found:
                report.add(item)
                # Hostile files may bring problems without end; only runs are progress.
                if isinstance(item, ImportedRun | Rejection):
                    hold.renew(n_done=report.n_done)
    except WorkLostError:
        raise
    except Exception as error:  # noqa: BLE001 (a fault of ours must not look like a dead worker)
        logger.exception("The import of %s broke.", job.file_name)
        reason = f"{type(error).__name__}: {error}"
        return ImportJob.State.FAILED, {"report": report.summary(), "problem": reason}
    return ImportJob.State.FINISHED, {"report": report.summary(), "n_done": report.n_done}
