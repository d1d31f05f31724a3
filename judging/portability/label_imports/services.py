"""Taking in files with labels that people send; they are looked at and stored in the background."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import QuerySet

from judging.models import LabelImport
from judging.portability.label_imports.importing import dispatch_label_imports
from runs.accounts.audit_log import record_entry
from runs.imports.kept_uploads import drop_upload, is_kept, keeping_upload
from runs.imports.services import AFTER_LOOK, GoneError
from runs.models import User
from runs.models.audit_log import IMPORT_DISCARDED, IMPORT_STARTED


def start_look(*, file: UploadedFile[Any], study: str, user: User) -> LabelImport:
    """Keep the file and have it looked at; the row whose page says what it would bring.

    Raises:
        OSError: the file cannot be kept, for instance because the disk is full.
        StoreUnavailableError: it cannot be kept now.
    """
    import_id = uuid.uuid4()
    size = file.size or 0
    with keeping_upload(file, f"{import_id}.table") as place, transaction.atomic():
        sent = LabelImport.objects.create(
            id=import_id,
            created_by=user,
            file_name=Path(file.name or "labels").name[:255],
            path=place,
            size=size,
            study_name=study,
        )
        record_entry(IMPORT_STARTED, about=sent, words=sent.file_name, user=user)
        transaction.on_commit(dispatch_label_imports)
    return sent


@transaction.atomic
def store_after_look(*, sent: LabelImport) -> None:
    """Have a file stored that would bring something. Asked for a second time it does nothing.

    Raises:
        GoneError: the file is gone.
    """
    if not sent.awaits_confirmation or not _looked_at(sent).exists():
        return
    if not is_kept(sent.path):
        raise GoneError
    _looked_at(sent).update(
        state=LabelImport.State.QUEUED,
        report={},
        **AFTER_LOOK,
    )
    transaction.on_commit(dispatch_label_imports)


def discard_after_look(*, sent: LabelImport) -> None:
    """Delete a file that was looked at; what was found stays."""
    with transaction.atomic():
        if not _looked_at(sent).update(state=LabelImport.State.CANCELLED):
            return
        record_entry(IMPORT_DISCARDED, about=sent, words=sent.file_name)
    drop_upload(sent.path)


def _looked_at(sent: LabelImport) -> QuerySet[LabelImport]:
    finished = LabelImport.State.FINISHED
    return LabelImport.objects.filter(pk=sent.pk, only_looks=True, state=finished)
