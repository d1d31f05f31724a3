"""What a deleted run leaves: a row that names it, and files that may go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from django.utils import timezone

from runs.models import Attachment, Blob, DeletedRun, DoomedBlob, Run, Step, User
from runs.storage.blob_checks import STEP_COLUMNS

BLOBS_AT_ONCE = 500


@contextmanager
def named_deleted(run: Run, reason: str) -> Iterator[None]:
    """Inside, the run may be deleted: something else takes its place in the same transaction."""
    DeletedRun.objects.filter(run_id=run.pk).delete()
    mark_for_deletion(blobs_of_runs([run.pk]))
    deletion_row(run, reason, None).save(force_insert=True)
    yield
    DeletedRun.objects.filter(run_id=run.pk).delete()


def blobs_of_runs(ids: Sequence[UUID]) -> set[str]:
    """Hashes of all files that the runs refer to, thumbnails apart."""
    steps = Step.objects.filter(run__in=ids)
    found = set(Attachment.objects.filter(run__in=ids).values_list("blob_id", flat=True))
    for row in steps.values_list(*(f"{name}_id" for name in STEP_COLUMNS)).iterator():
        found.update(row)
    return found - {None}


def deletion_row(run: Run, reason: str, user: User | None) -> DeletedRun:
    """What is kept of a run that is deleted."""
    return DeletedRun(
        run_id=run.pk,
        deleted_at=timezone.now(),
        deleted_by=user,
        reason=reason[:200],
        experiment=run.experiment.name if run.experiment else "",
        task=run.task.external_id[:300],
        n_steps=run.n_steps,
        content_hash=run.content_hash or "",
    )


def mark_for_deletion(hashes: set[str]) -> None:
    """Have the files deleted, once nothing refers to them."""
    there = Blob.objects.filter(pk__among=sorted(hashes)).values_list("pk", flat=True)
    rows = [DoomedBlob(blob_id=sha256, since=timezone.now()) for sha256 in sorted(there)]
    DoomedBlob.objects.bulk_create(rows, ignore_conflicts=True, batch_size=BLOBS_AT_ONCE)
