"""Reports and bundles of studies, made in the background."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from judging.models import StudyDownload
from judging.portability.study_report.downloads import carry_out, sweep_downloads
from runs.queue.messages import dispatch
from runs.queue.sweeping import swept

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
