"""Looking at a sent file with labels and storing it, once, whoever dies over it."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import UUID

from celery import shared_task
from django.conf import settings
from django.db import IntegrityError, OperationalError, transaction
from django.utils.module_loading import import_string

from judging.models import LabelImport
from judging.portability.judgements.rows import read_rows
from judging.studies.imported import StudyNameError
from runs.imports.kept_uploads import drop_upload, kept_upload
from runs.models import User
from runs.models.leased_work import WorkState
from runs.queue.leases import WorkLease, WorkLostError, sweep_work
from runs.queue.messages import dispatch
from runs.queue.sweeping import swept
from runs.queue.workers import is_stopping
from runs.storage.file_storage import StoreUnavailableError

if TYPE_CHECKING:
    from judging.portability.judgements.label_reports import LabelReport

logger = logging.getLogger(__name__)

IMPORTER = "judging.portability.judgements.label_files.import_labels"
"""Lies above this layer, since it settles what labels agree on."""
NEEDED = ("runs.import_run", "judging.change_study")
"""What whoever sends labels must be allowed to do."""
MOST_SHOWN = 200
"""Bad rows of a file that its page lists."""
NO_STORE = "The file storage does not answer. The import is tried again by itself."
BUSY = "The database was busy with something else. The import is tried again by itself."
GONE = "The file is not kept any more; send it again."
MAY_NOT = "Who sent the file may not import labels now."


class _StoppingError(Exception):
    """The worker was told to stop; nothing is stored yet."""


AGAIN = (WorkLostError, StoreUnavailableError, OperationalError, IntegrityError, _StoppingError)
"""What says nothing of the file: it is tried again."""


def carry_out(import_id: UUID) -> bool:
    """Look at the file, or store what it says; False if it was not there to be had.

    All is stored in one transaction, which dies with its worker: the next one begins anew.
    """
    sent = LabelImport.objects.claim(import_id, lease_s=settings.ENV.LEASE_S)
    if sent is None:
        return False
    hold = WorkLease(sent)
    with hold.kept():
        try:
            _count_rows(sent, hold)
            # What is stored and that it is stored are there together, or neither.
            with transaction.atomic():
                state, changes = _carry_out(sent)
                hold.end(state, **changes)
            sent.state, sent.report = state, changes.get("report", {})
            if not sent.awaits_word:
                drop_upload(sent.path)
        except _StoppingError:
            hold.hand_back()
        except StoreUnavailableError as error:
            logger.warning("The import of %s waits: %s.", sent.file_name, error)
            hold.lay_down(problem=NO_STORE)
        except (OperationalError, IntegrityError) as error:
            # SQLite was locked for too long, or another import brought the same rows meanwhile.
            logger.warning("The import of %s waits: %s.", sent.file_name, error)
            hold.lay_down(problem=BUSY)
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
            report: LabelReport = import_string(IMPORTER)(
                file,
                study=sent.study_name,
                dry_run=sent.only_looks,
                user=sent.created_by,
                most_listed=MOST_SHOWN,
                on_rows=_demand_time,
            )
    except AGAIN:
        raise
    except StudyNameError as error:
        return WorkState.FAILED, {"problem": str(error)}
    except FileNotFoundError:
        return WorkState.FAILED, {"problem": GONE}
    except Exception as error:  # noqa: BLE001 (a fault of ours must not look like a dead worker)
        logger.exception("The import of %s broke.", sent.file_name)
        return WorkState.FAILED, {"problem": f"{type(error).__name__}: {error}"}
    done = {"report": report.summary(), "n_done": report.rows, "problem": ""}
    return WorkState.FINISHED, done


def _count_rows(sent: LabelImport, hold: WorkLease) -> None:
    """Say how many rows there are, while others can see it. Raises WorkLostError."""
    with suppress(FileNotFoundError), kept_upload(sent.path) as path, path.open("rb") as file:
        hold.renew(n_total=sum(1 for _ in read_rows(file)), n_done=0)


def _demand_time(_n_rows: int) -> None:
    """Raises _StoppingError where this worker was told to stop."""
    if is_stopping():
        raise _StoppingError


IMPORT_LABELS = "judging.tasks.import_labels"


@shared_task(name=IMPORT_LABELS)
def import_labels(import_id: str) -> None:
    """Look at a sent file with labels, or store it: a second delivery finds nothing to claim."""
    if carry_out(UUID(import_id)):
        dispatch(LabelImport, IMPORT_LABELS, most_again=1)


swept(sweep_label_imports)


@swept
def dispatch_label_imports() -> None:
    """Tell the workers of files with labels that wait."""
    dispatch(LabelImport, IMPORT_LABELS)
