"""Looking at an uploaded file, importing it once, whoever dies over it, and dropping it then."""

import logging
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from celery import shared_task
from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext_noop

from runs.imports.reimporting import ReadingAgain, Reimported, remember_runs
from runs.imports.reports import ImportReport
from runs.imports.rows import is_stored
from runs.imports.services import (
    IMPORT_UPLOAD,
    dispatch_imports,
    drop_upload,
    kept_places,
    kept_upload,
)
from runs.imports.session import ImportSession, import_bounds
from runs.imports.storing import ImportedRun, import_runs
from runs.imports.thumbnailing import ask_for_thumbnails
from runs.models import ImportJob
from runs.models.extension import extension
from runs.models.leased_work import LeasedWork, WorkState
from runs.queue.leases import WorkLease, WorkLostError, sweep_work
from runs.queue.sweeping import swept
from runs.queue.workers import dispatch, is_stopping
from runs.storage.file_storage import StoreUnavailableError
from webagent.process.counters import imported_runs
from webagent.trajectory.intake import Problem, Rejection
from webagent.trajectory.reading import RunSource, open_runs
from webagent.trajectory.surveys import Survey, survey

logger = logging.getLogger(__name__)

NO_STORE = gettext_noop("The file storage does not answer. The import is tried again by itself.")


class StoppingError(Exception):
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
    with carrying_out(job) as hold:
        state, changes = _carry_out(job, hold)
        hold.end(state, **changes)
        job.state = state
        _drop_if_done_with(job)
    return True


@contextmanager
def carrying_out(job: LeasedWork) -> Iterator[WorkLease]:
    """Hold the work on a sent file while the block lasts.

    A worker that is told to stop leaves it to the next one; while the store of files does not
    answer, the work waits.
    """
    hold = WorkLease(job)
    with hold.kept():
        try:
            yield hold
        except StoppingError:
            hold.hand_back()
        except StoreUnavailableError as error:
            logger.warning("The import of %s waits: %s.", job, error)
            hold.lay_down(problem=NO_STORE)


@swept
def sweep_imports() -> None:
    """Fail what cannot be imported, and delete uploads that nobody needs any more."""
    sweep_work(ImportJob)
    _drop_unneeded()


def _drop_unneeded() -> None:
    """Delete uploads that nobody needs any more."""
    long_ago = timezone.now() - timedelta(seconds=settings.ENV.ORPHAN_GRACE_S)
    here = dict(kept_places())
    known, needed = _jobs_of(here)
    for place, written_at in here.items():
        if place in needed or (place not in known and written_at > long_ago):
            continue
        drop_upload(place)
        ImportJob.objects.filter(path=place, keeps_file=True).update(keeps_file=False)


def _drop_if_done_with(job: ImportJob) -> None:
    """Delete the file of an import that has just ended, unless it is to rest here."""
    if job.reads_again_id or job.awaits_confirmation or job.owns_kept_file:
        return
    drop_upload(job.path)


def _jobs_of(places: Collection[str]) -> tuple[set[str], set[str]]:
    """Those of the places that any import names, and those that are needed."""
    now = timezone.now()
    waits_since = now - timedelta(seconds=settings.ENV.ORPHAN_GRACE_S)
    rests_since = now - timedelta(days=settings.ENV.UPLOAD_KEEP_DAYS)
    room = settings.ENV.UPLOAD_KEEP_BYTES
    known, needed = set(), set()
    columns = ("path", "size", "state", "only_looks", "ended_at", "keeps_file", "reads_again_id")
    for job in ImportJob.objects.filter(path__in=places).only(*columns).order_by("-ended_at"):
        known.add(job.path)
        if job.is_active:
            needed.add(job.path)
        elif job.ended_at is None:
            continue
        elif job.awaits_confirmation and job.ended_at > waits_since:
            needed.add(job.path)
        elif job.owns_kept_file and job.ended_at > rests_since and job.size <= room:
            room -= job.size
            needed.add(job.path)
    return known, needed


def _carry_out(job: ImportJob, hold: WorkLease) -> tuple[WorkState, dict[str, object]]:
    """State and last changes of the look or the import. Raises WorkLostError."""
    report = ImportReport(is_reading_again=bool(job.reads_again_id))
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
                return WorkState.FINISHED, _look(job, source, hold)
            report.leave(source.unread)
            verdicts = extension().verdicts
            verdicts.before_file(path, job.created_by)
            _import(job, hold, source, report)
            for problem in verdicts.after_file(path, job.file_name, job.created_by):
                report.add(problem)
    except (WorkLostError, StoreUnavailableError, StoppingError):
        raise
    except Exception as error:  # a fault of ours must not look like a dead worker
        logger.exception("The import of %s broke.", job.file_name)
        _remember(job, report)
        reason = f"{type(error).__name__}: {error}"
        return WorkState.FAILED, {"report": report.summary(), "problem": reason}
    _remember(job, report)
    done = {"report": report.summary(), "n_done": report.n_done, "problem": ""}
    return WorkState.FINISHED, done


def _look(job: ImportJob, source: RunSource, hold: WorkLease) -> dict[str, object]:
    """The changes that a first look brings. Raises WorkLostError."""

    def note(found: Survey) -> None:
        hold.renew(n_done=found.n_done)
        demand_time()

    again = ReadingAgain(job.reads_again) if job.reads_again else None
    found = survey(
        source,
        is_known=again.look if again else is_stored,
        refused=extension().verdicts.refused,
        on_run=note,
    )
    told = found.to_json() | ({"again": again.told()} if again else {})
    return {"survey": told, "n_done": found.n_done, "problem": ""}


def _import(job: ImportJob, hold: WorkLease, source: RunSource, report: ImportReport) -> None:
    """Store all runs, noting each in the report. Raises WorkLostError."""
    stored_before = set(job.runs_of_file.values_list("run_id", flat=True))
    for item in _stored(job, source):
        report.add(_as_brought(item, stored_before))
        _count(item)
        # Hostile files may bring problems without end; only runs are progress.
        if isinstance(item, ImportedRun | Reimported | Rejection):
            hold.renew(n_done=report.n_done)
            demand_time()


def _as_brought(
    item: ImportedRun | Reimported | Problem, stored_before: set[UUID]
) -> ImportedRun | Reimported | Problem:
    """The item; a run that this import stored before its worker died is as new as the others."""
    if not isinstance(item, ImportedRun) or item.run_id not in stored_before:
        return item
    stored_before.remove(item.run_id)
    return replace(item, is_new=True)


def _remember(job: ImportJob, report: ImportReport) -> None:
    """Note which runs the file holds if it rests here. Nobody takes the import up any more."""
    first = job.reads_again or job
    if first.keeps_file:
        remember_runs(first, (*report.imported, *report.already_there))
    else:
        job.runs_of_file.all().delete()


def _stored(job: ImportJob, source: RunSource) -> Iterator[ImportedRun | Reimported | Problem]:
    """Each thing that was read, stored."""
    if job.reads_again:
        with closing(ImportSession(user=job.created_by, thumbnails_follow=True)) as session:
            yield from ReadingAgain(job.reads_again).store(source, session)
        return
    yield from import_runs(
        source,
        experiment_name=job.experiment_name or None,
        user=job.created_by,
        thumbnails_follow=True,
        job=job,
    )


def demand_time() -> None:
    """Raises StoppingError where this worker was told to stop."""
    if is_stopping():
        raise StoppingError


def _count(item: object) -> None:
    """For the metrics: runs that are new, were there before, or were refused."""
    if isinstance(item, ImportedRun):
        imported_runs.labels("new" if item.is_new else "known").inc()
    elif isinstance(item, Rejection):
        imported_runs.labels("rejected").inc()


@shared_task(name=IMPORT_UPLOAD)
def import_upload_task(job_id: str) -> None:
    """Import the uploaded file at most once: a second delivery finds nothing to claim."""
    if import_upload(UUID(job_id)):
        dispatch(ImportJob, IMPORT_UPLOAD, most_again=1)
    ask_for_thumbnails()


swept(dispatch_imports)
