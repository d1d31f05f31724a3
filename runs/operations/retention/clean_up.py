"""Deleting runs that were put away, and the files that nothing refers to after that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError, QuerySet
from django.utils import timezone

from runs.models import DeletedRun, DoomedBlob, Run, RunStatus, User
from runs.operations.retention.deletion_guards import unkept
from runs.storage.blob_checks import delete_unused, unused_blobs
from runs.storage.usage import blobs_of_runs, deletion_row, mark_for_deletion

RUNS_AT_ONCE = 50
BLOBS_AT_ONCE = 500


Noted = Callable[[Sequence[UUID]], None]


def delete_runs(
    runs: QuerySet[Run],
    *,
    reason: str,
    user: User | None,
    note: Noted,
    at_most: int | None = None,
) -> list[UUID]:
    """Delete those of the runs that were put away and that nothing keeps; which ones went.

    Some at a time, each with all its rows or not at all. Their files are doomed in the same
    transaction, and go with `delete_doomed`, unless another run has them too.

    Args:
        note: writes down which ones went, in the transaction in which they go: whoever is killed
            in between leaves none that went unnoted.
    """
    gone: list[UUID] = []
    away = unkept(runs.filter(archived_at__isnull=False)).order_by("pk")
    ids = list(away.values_list("pk", flat=True)[:at_most])
    for start in range(0, len(ids), RUNS_AT_ONCE):
        gone += _delete_some(ids[start : start + RUNS_AT_ONCE], reason, user, note)
    return gone


def delete_doomed(*, at_most: int | None = None) -> int:
    """Delete doomed files that nothing refers to any more; how many rows and files went.

    Those that are younger than the grace period may belong to what is being stored, and wait.
    """
    n_deleted = n_seen = 0
    before = timezone.now() - timedelta(seconds=settings.ENV.ORPHAN_GRACE_S)
    old = DoomedBlob.objects.filter(blob__created_at__lt=before).order_by("pk")
    while at_most is None or n_seen < at_most:
        hashes = list(old.values_list("pk", flat=True)[:BLOBS_AT_ONCE])
        if not hashes:
            break
        n_seen += len(hashes)
        going = unused_blobs().filter(pk__among=hashes, thumbnail__isnull=False)
        thumbnails = set(going.values_list("thumbnail_id", flat=True))
        mark_for_deletion(
            thumbnails
        )  # before their pictures go: whoever is killed then forgets none
        n_deleted += delete_unused(hashes, before=before)
        # What is still there is somebody else's and stays; thumbnails are looked at once more.
        DoomedBlob.objects.filter(pk__in=[one for one in hashes if one not in thumbnails]).delete()
    return n_deleted


def _delete_some(ids: Sequence[UUID], reason: str, user: User | None, note: Noted) -> list[UUID]:
    try:
        with transaction.atomic():
            if gone := _delete_whole(ids, reason, user):
                note(gone)
            return gone
    except (IntegrityError, ProtectedError):
        # Somebody has come to refer to one of them meanwhile: that one stays.
        if len(ids) == 1:
            return []
        return [gone for one in ids for gone in _delete_some([one], reason, user, note)]


def _delete_whole(ids: Sequence[UUID], reason: str, user: User | None) -> list[UUID]:
    there = Run.objects.filter(
        pk__in=ids, archived_at__isnull=False, status__in=RunStatus.ended()
    ).select_related("experiment", "task")
    runs = list(unkept(there).select_for_update(of=("self",)))
    going = [run.pk for run in runs]
    DeletedRun.objects.bulk_create(
        [deletion_row(run, reason, user) for run in runs],
        update_conflicts=True,
        unique_fields=["run_id"],
        update_fields=["deleted_at", "deleted_by", "reason", "experiment", "task", "n_steps"],
    )
    mark_for_deletion(blobs_of_runs(going))
    Run.objects.filter(pk__in=going).delete()
    return going
