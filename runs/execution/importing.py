"""Looking at an uploaded file and importing it, once, whoever dies over it."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from runs.bounds import import_bounds
from runs.execution.holding import Hold, WorkLostError, sweep_work
from runs.execution.storing import ImportedRun, import_runs
from runs.import_reports import ImportReport
from runs.interchange import run_extensions
from runs.kept_uploads import drop_upload, kept_places, kept_upload
from runs.models import ImportJob
from runs.monitoring.counters import imported_runs
from runs.run_bundles import is_stored
from runs.storage import StoreUnavailableError
from runs.workers import is_stopping
from webagent.trajectory.reading import Rejection, RunSource, open_runs
from webagent.trajectory.surveys import Survey, survey

logger = logging.getLogger(__name__)

NO_STORE = "The file storage does not answer. The import is tried again by itself."


class _StoppingError(Exception):
    """The worker was told to stop; what is done is stored."""


def import_upload(job_id: UUID) -> bool:
    """Import an uploaded file; False if it was not there to be had (a second message, say).

    Runs are stored one by one, so a worker that takes up after a dead one finds them there. A
    file that is only to be looked at stays where it is, until its owner decides over it. While
    the store of files does not answer, the import waits, and is tried again a few times. A worker
    that is told to stop leaves the rest to the next one.
    """
    job = ImportJob.objects.claim(job_id, lease_s=settings.ENV.LEASE_S)
    if job is None:
        return False
    hold = Hold(job)
    with hold.kept():
        try:
            state, changes = _carry_out(job, hold)
            hold.end(state, **changes)
            if not job.only_looks or state is not ImportJob.State.FINISHED:
                drop_upload(job.path)
        except _StoppingError:
            hold.hand_back()
        except StoreUnavailableError as error:
            logger.warning("The import of %s waits: %s.", job.file_name, error)
            hold.lay_down(problem=NO_STORE)
    return True


def sweep_imports() -> None:
    """Fail what cannot be imported, and delete uploads that nobody needs any more."""
    sweep_work(ImportJob)
    long_ago = timezone.now() - timedelta(seconds=settings.ENV.ORPHAN_GRACE_S)
    jobs = ImportJob.objects.only("path", "state", "only_looks", "ended_at")
    needed = {job.path: job.is_active or _awaits_word(job, long_ago) for job in jobs}
    for place, written_at in kept_places():
        if not needed.get(place, written_at > long_ago):
            drop_upload(place)


def _awaits_word(job: ImportJob, long_ago: datetime) -> bool:
    """Whether it was looked at lately enough that its owner may still have it imported."""
    return job.awaits_word and job.ended_at is not None and job.ended_at > long_ago


def _carry_out(job: ImportJob, hold: Hold) -> tuple[ImportJob.State, dict[str, object]]:
    """State and last changes of the look or the import. Raises WorkLostError."""
    report = ImportReport()
    try:
        with (
            kept_upload(job.path) as path,
            open_runs(
                path,
                format=job.format,
                bounds=import_bounds(),
                label=job.file_name,
                answers=job.answers,
            ) as source,
        ):
            hold.renew(n_total=source.total, n_done=0)
            if job.only_looks:
                return ImportJob.State.FINISHED, _look(source, hold)
            for extension in run_extensions():
                extension.before_file(path, job.created_by)
            _import(job, hold, source, report)
            for extension in run_extensions():
                for problem in extension.after_file(path, job.file_name, job.created_by):
                    report.add(problem)
    except (WorkLostError, StoreUnavailableError, _StoppingError):
        raise
    except Exception as error:  # noqa: BLE001 (a fault of ours must not look like a dead worker)
        logger.exception("The import of %s broke.", job.file_name)
        reason = f"{type(error).__name__}: {error}"
        return ImportJob.State.FAILED, {"report": report.summary(), "problem": reason}
    done = {"report": report.summary(), "n_done": report.n_done, "problem": ""}
    return ImportJob.State.FINISHED, done


def _look(source: RunSource, hold: Hold) -> dict[str, object]:
    """The changes that a first look brings. Raises WorkLostError."""

    def note(found: Survey) -> None:
        hold.renew(n_done=found.n_done)
        _demand_time()

    found = survey(source, is_known=is_stored, on_run=note)
    return {"survey": found.to_json(), "n_done": found.n_done, "problem": ""}


def _import(job: ImportJob, hold: Hold, source: RunSource, report: ImportReport) -> None:
    """Store all runs, noting each in the report. Raises WorkLostError."""
    found = import_runs(
        source,
        experiment_name=job.experiment_name or None,
        user=job.created_by,
        thumbnails_follow=True,
    )
    for item in found:
        report.add(item)
        _count(item)
        # Hostile files may bring problems without end; only runs are progress.
        if isinstance(item, ImportedRun | Rejection):
            hold.renew(n_done=report.n_done)
            _demand_time()


def _demand_time() -> None:
    """Raises _StoppingError where this worker was told to stop."""
    if is_stopping():
        raise _StoppingError


def _count(item: object) -> None:
    """For the metrics: runs that are new, were there before, or were refused."""
    if isinstance(item, ImportedRun):
        imported_runs.labels("new" if item.is_new else "known").inc()
    elif isinstance(item, Rejection):
        imported_runs.labels("rejected").inc()
