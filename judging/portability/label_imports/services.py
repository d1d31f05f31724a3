"""Files with labels that people send: looked at and stored in the background, once."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any
from uuid import UUID

from celery import shared_task
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, OperationalError, transaction

from judging.models import LabelImport
from judging.portability.judgements.label_files import import_labels
from judging.portability.judgements.rows import read_rows
from judging.studies.imported import StudyNameError
from runs.imports.importing import StoppingError, carrying_out, demand_time
from runs.imports.services import (
    drop_upload,
    keep_sent,
    kept_upload,
    queue_after_look,
    reject_after_look,
)
from runs.models import User
from runs.models.leased_work import WorkState
from runs.queue.leases import WorkLease, WorkLostError, sweep_work
from runs.queue.sweeping import swept
from runs.queue.workers import dispatch
from runs.storage.file_storage import StoreUnavailableError

logger = logging.getLogger(__name__)

NEEDED = ("runs.import_run", "judging.change_study")
"""Permissions that importing labels takes."""
MOST_SHOWN = 200
"""Rows that cannot be taken, listed on the page of a file."""
BUSY = "The database was busy with something else. The import is tried again by itself."
GONE = "The file is not kept any more; send it again."
MAY_NOT = "Who sent the file may not import labels now."


AGAIN = (WorkLostError, StoreUnavailableError, OperationalError, IntegrityError, StoppingError)
"""What says nothing of the file: it is tried again."""


def carry_out(import_id: UUID) -> bool:
    """Look at the file, or store what it says; False if it was not there to be had.

    All is stored in one transaction, which dies with its worker: the next one begins anew.
    """
    sent = LabelImport.objects.claim(import_id, lease_s=settings.ENV.LEASE_S)
    if sent is None:
        return False
    with carrying_out(sent) as hold:
        try:
            _count_rows(sent, hold)
            # What is stored and that it is stored are there together, or neither.
            with transaction.atomic():
                state, changes = _carry_out(sent)
                hold.end(state, **changes)
        except (OperationalError, IntegrityError) as error:
            # SQLite was locked for too long, or another import brought the same rows meanwhile.
            logger.warning("The import of %s waits: %s.", sent.file_name, error)
            hold.lay_down(problem=BUSY)
        else:
            sent.state, sent.report = state, changes.get("report", {})
            if not sent.awaits_confirmation:
                drop_upload(sent.path)
    return True


def sweep_label_imports() -> None:
    """Fail what cannot be carried out. Files of old looks go with other forgotten uploads."""
    sweep_work(LabelImport)


def may_import(user: User) -> bool:
    """Whether the person may bring labels in."""
    return user.is_active and user.has_perms(NEEDED)


def _carry_out(sent: LabelImport) -> tuple[WorkState, dict[str, Any]]:
    """State and last changes of the look or the import."""
    if not may_import(sent.created_by):
        return WorkState.FAILED, {"problem": MAY_NOT}
    try:
        with kept_upload(sent.path) as path, path.open("rb") as file:
            report = import_labels(
                file,
                study=sent.study_name,
                dry_run=sent.only_looks,
                makes_stubs=sent.makes_stubs,
                user=sent.created_by,
                most_listed=MOST_SHOWN,
                on_rows=lambda _n: demand_time(),
            )
    except AGAIN:
        raise
    except StudyNameError as error:
        return WorkState.FAILED, {"problem": str(error)}
    except FileNotFoundError:
        return WorkState.FAILED, {"problem": GONE}
    except Exception as error:  # a fault of ours must not look like a dead worker
        logger.exception("The import of %s broke.", sent.file_name)
        return WorkState.FAILED, {"problem": f"{type(error).__name__}: {error}"}
    done = {"report": report.summary(), "n_done": report.rows, "problem": ""}
    return WorkState.FINISHED, done


def _count_rows(sent: LabelImport, hold: WorkLease) -> None:
    """Say how many rows there are, while others can see it. Raises WorkLostError."""
    with suppress(FileNotFoundError), kept_upload(sent.path) as path, path.open("rb") as file:
        hold.renew(n_total=sum(1 for _ in read_rows(file)), n_done=0)


IMPORT_LABELS = "judging.tasks.import_labels"


@shared_task(name=IMPORT_LABELS)
def import_labels_task(import_id: str) -> None:
    """Look at a sent file with labels, or store it: a second delivery finds nothing to claim."""
    if carry_out(UUID(import_id)):
        dispatch(LabelImport, IMPORT_LABELS, most_again=1)


swept(sweep_label_imports)


@swept
def dispatch_label_imports() -> None:
    """Tell the workers of files with labels that wait."""
    dispatch(LabelImport, IMPORT_LABELS)


def start_look(
    *, file: UploadedFile[Any], study: str, makes_stubs: bool, user: User
) -> LabelImport:
    """Keep the file and have it looked at; the row whose page says what it would bring.

    Raises as `keep_sent`.
    """
    return keep_sent(
        LabelImport,
        file=file,
        ending="table",
        dispatch=dispatch_label_imports,
        created_by=user,
        study_name=study,
        makes_stubs=makes_stubs,
    )


@transaction.atomic
def store_after_look(*, sent: LabelImport) -> None:
    """Have a file stored that would bring something. Asked for a second time it does nothing.

    Raises:
        GoneError: the file is gone.
    """
    if sent.awaits_confirmation and sent.looked_at().select_for_update().first():
        queue_after_look(sent, dispatch_label_imports, report={})


def discard_after_look(*, sent: LabelImport) -> None:
    """Delete a file that was looked at; what was found stays."""
    if reject_after_look(sent):
        drop_upload(sent.path)
