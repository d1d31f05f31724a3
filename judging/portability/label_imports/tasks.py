"""Files with labels, read in the background."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from judging.models import LabelImport
from judging.portability.label_imports.importing import carry_out, sweep_label_imports
from runs.queue.messages import dispatch
from runs.queue.sweeping import swept

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
