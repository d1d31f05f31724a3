"""Having a kept upload read again by the importers of today, and letting go of it."""

from __future__ import annotations

from django.db import transaction

from runs.accounts.audit_log import record_act
from runs.imports.kept_uploads import drop_upload, is_kept
from runs.imports.services import GoneError
from runs.imports.tasks import dispatch_imports
from runs.models import ImportJob, User
from runs.models.audit_log import UPLOAD_DELETED, UPLOAD_READ_AGAIN


@transaction.atomic
def read_again(*, job: ImportJob, user: User) -> ImportJob:
    """Look at the file of an earlier import once more; the row that waits for a word then.

    One that is on its way already is taken instead of a second.

    Raises:
        GoneError: the file is not kept any more.
    """
    first = ImportJob.objects.select_for_update().get(pk=job.pk)
    if not first.owns_kept_file or not is_kept(first.path):
        raise GoneError
    if reading := first.readings.active().first():
        return reading
    reading = ImportJob.objects.create(
        created_by=user,
        file_name=first.file_name,
        path=first.path,
        size=first.size,
        format=first.format,
        experiment_name=first.experiment_name,
        answers=first.answers,
        only_looks=True,
        reads_again=first,
    )
    record_act(UPLOAD_READ_AGAIN, about=reading, words=first.file_name)
    transaction.on_commit(dispatch_imports)
    return reading


def delete_file(*, job: ImportJob) -> None:
    """Delete the kept file of an import; its runs stay.

    Raises:
        GoneError: it is gone, or being read.
    """
    with transaction.atomic():
        first = ImportJob.objects.select_for_update().get(pk=job.pk)
        if not first.owns_kept_file or first.readings.active().exists():
            raise GoneError
        ImportJob.objects.filter(pk=first.pk).update(keeps_file=False)
        record_act(UPLOAD_DELETED, about=first, words=first.file_name)
    drop_upload(first.path)
