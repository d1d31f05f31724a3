"""Carrying out the import of an uploaded file, once, whoever dies over it."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, connection

from runs.bounds import import_bounds
from runs.execution.storing import import_runs
from runs.import_reports import ImportReport
from runs.models import ImportJob
from webagent.trajectory.reading import open_runs

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
        with JobHeartbeat(job) as heartbeat:
            status, changes = _import(job, heartbeat)
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


class JobHeartbeat:
    """Renews the lease of an import from a thread of its own."""

    def __init__(self, job: ImportJob) -> None:
        self.is_lost = False
        self._job = job
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def note(self, **changes: int) -> None:
        """Write progress, and keep the import.

        Raises:
            ImportLostError: another worker has it.
        """
        job = self._job
        held = not self.is_lost and ImportJob.objects.renew(
            job.pk, job.lease_token, lease_s=settings.ENV.LEASE_S, **changes
        )
        if not held:
            raise ImportLostError

    def _beat(self) -> None:
        interval = min(settings.ENV.HEARTBEAT_S, settings.ENV.LEASE_S / 3)
        try:
            while not self._ended.wait(interval) and not self.is_lost:
                self._renew()
        finally:
            connection.close()

    def _renew(self) -> None:
        try:
            self.note()
        except ImportLostError:
            self.is_lost = True
        except DatabaseError:
            logger.warning("A heartbeat of an import failed.", exc_info=True)
            connection.close()


def _import(job: ImportJob, heartbeat: JobHeartbeat) -> tuple[str, dict[str, object]]:
    """Status and last changes of the import. Raises ImportLostError."""
    report = ImportReport()
    try:
        with open_runs(
            Path(job.path), format=job.format, bounds=import_bounds(), label=job.file_name
        ) as source:
            heartbeat.note(n_found=source.total, n_done=0)
            found = import_runs(
                source, experiment_name=job.experiment_name or None, user=job.created_by
            )
            for item in found:
                report.add(item)
                heartbeat.note(n_done=report.n_done)
    except ImportLostError:
        raise
    except Exception as error:  # noqa: BLE001 (a fault of ours must not look like a dead worker)
        logger.exception("The import of %s broke.", job.file_name)
        reason = f"{type(error).__name__}: {error}"
        return ImportJob.Status.FAILED, {"report": report.summary(), "error": reason}
    return ImportJob.Status.FINISHED, {"report": report.summary(), "n_done": report.n_done}
