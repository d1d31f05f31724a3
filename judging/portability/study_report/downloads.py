"""A study's report or bundle: made in the background, and kept for some days."""

import hashlib
import logging
import tempfile
from dataclasses import asdict
from datetime import timedelta
from typing import Any, BinaryIO
from uuid import UUID

from celery import shared_task
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from judging.models import Study, StudyDownload, StudyDownloadPart
from judging.portability.study_bundles.services import write_study
from judging.portability.study_report.pages import Choices
from judging.portability.study_report.writing import write_report
from judging.studies.access import AUDIT, STUDY_EXPORTED, record_unblindings, studies_hidden_from
from judging.studies.blinding import items_with_open_labels
from runs.accounts.audit_log import record_entry
from runs.models import User
from runs.queue.leases import WorkLease, WorkLostError, sweep_work
from runs.queue.sweeping import swept
from runs.queue.workers import dispatch
from runs.storage.blobs import BlobBatch
from webagent.trajectory.blobs import BlobError

logger = logging.getLogger(__name__)
PART_BYTES = 8 * 1024 * 1024
KEPT_DAYS = 7
ZIP = "application/zip"


class _CancelledError(Exception):
    """Somebody asked to stop."""


def carry_out(download_id: UUID) -> bool:
    """Make the file, once; False if it was not there to be had."""
    download = StudyDownload.objects.claim(download_id, lease_s=settings.ENV.LEASE_S)
    if download is None:
        return False
    hold = WorkLease(download)
    with hold.kept():
        try:
            _make(download, hold)
        except WorkLostError:
            raise
        except _CancelledError:
            hold.end(StudyDownload.State.CANCELLED)
        except PermissionDenied:
            hold.end(StudyDownload.State.FAILED, problem="who asked for it may not have it now")
        except (BlobError, OSError) as error:
            hold.end(StudyDownload.State.FAILED, problem=str(error))
        except Exception as error:  # a fault of ours must not look like a dead worker
            logger.exception("The download %s broke.", download.pk)
            hold.end(StudyDownload.State.FAILED, problem=f"{type(error).__name__}: {error}")
    return True


def sweep_downloads() -> None:
    """End what no worker will end, and forget files that are too old."""
    sweep_work(StudyDownload)
    long_ago = timezone.now() - timedelta(days=KEPT_DAYS)
    StudyDownload.objects.filter(ended_at__lt=long_ago).delete()


def _make(download: StudyDownload, hold: WorkLease) -> None:
    user = _who_may(download)
    hold.renew(n_total=download.study.items.count(), n_done=0)
    n_done = 0

    def on_run() -> None:
        nonlocal n_done
        n_done += 1
        hold.renew(n_done=n_done)
        if hold.is_to_cancel():
            raise _CancelledError

    with tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR) as file:
        if download.kind == StudyDownload.Kind.BUNDLE:
            write_study(file, download.study, on_run=on_run)
        else:
            labelled = items_with_open_labels(user).filter(study=download.study)
            choices = Choices(**download.choices)
            write_report(file, download.study, choices, labelled=labelled, on_run=on_run)
        size = file.tell()
        file.seek(0)
        with transaction.atomic():
            _keep(download, file)
            hold.end(StudyDownload.State.FINISHED, size=size, n_done=n_done)


def _who_may(download: StudyDownload) -> User:
    """Who asked for it, if they still may have it."""
    user = download.created_by
    if user is None or not user.is_active or not user.has_perm(AUDIT):
        raise PermissionDenied
    if studies_hidden_from(user).filter(pk=download.study_id).exists():
        raise PermissionDenied
    return user


def _keep(download: StudyDownload, file: BinaryIO) -> None:
    """The file's bytes in the store of blobs, piece by piece."""
    download.parts.all().delete()
    for position, content in enumerate(iter(lambda: file.read(PART_BYTES), b"")):
        batch = BlobBatch()
        batch.add(content, ZIP)
        batch.save()
        StudyDownloadPart.objects.create(
            download=download, position=position, blob_id=hashlib.sha256(content).hexdigest()
        )


MAKE_STUDY_DOWNLOAD = "judging.tasks.make_study_download"


@shared_task(name=MAKE_STUDY_DOWNLOAD)
def make_study_download(download_id: str) -> None:
    """Make a study's report or bundle: a second delivery finds nothing to claim."""
    if carry_out(UUID(download_id)):
        dispatch(StudyDownload, MAKE_STUDY_DOWNLOAD, most_again=1)


swept(sweep_downloads)


@swept
def dispatch_downloads() -> None:
    """Tell the workers of downloads that wait."""
    dispatch(StudyDownload, MAKE_STUDY_DOWNLOAD)


@transaction.atomic
def start_download(
    *, study: Study, kind: StudyDownload.Kind, choices: Choices, user: User
) -> StudyDownload:
    """Have it made; the one under way where the same is asked for twice.

    Who asks comes to see what was said of every run, which is noted.
    """
    told = asdict(choices) if kind is StudyDownload.Kind.REPORT else {}
    options: dict[str, Any] = {"study": study, "kind": kind, "choices": told}
    if there := StudyDownload.objects.active_of(user, **options).first():
        return there
    download = StudyDownload.objects.create(**options, created_by=user)
    record_unblindings(user=user, items=study.items.all(), reason=f"{kind} of a study")
    record_entry(STUDY_EXPORTED, about=study, words=study.name, after=kind, user=user)
    transaction.on_commit(dispatch_downloads)
    return download
