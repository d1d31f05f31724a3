"""What would go if the runs of an experiment were put away and deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Min, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils.functional import Promise

from runs.models import Attachment, Blob, Experiment, Run, Step
from runs.operations.retention.deletion_guards import kept_by, unkept
from runs.storage.blob_checks import references
from runs.storage.usage import blobs_of_runs, bytes_of

EXACTLY = 500
"""Runs up to which it is worked out what their files share with others."""
BLOBS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Going:
    """Some runs: how many, and what their files take."""

    runs: int
    steps: int
    size: int
    freed: int | None
    """Bytes of files that no other run has; None where that is not worked out."""


@dataclass(frozen=True, slots=True)
class Preview:
    """An experiment's runs: which could go, which are put away, what keeps the others."""

    here: Going
    away: Going
    kept: list[tuple[str | Promise, int]]
    first_due: datetime | None
    """When the first of those that are put away may be deleted."""
    due: int
    """How many of them may be by now."""


def preview(experiment: Experiment, now: datetime) -> Preview:
    """What could go of the experiment, and what would not."""
    runs = Run.objects.filter(experiment=experiment)
    here = runs.filter(archived_at=None)
    away = unkept(runs.filter(archived_at__isnull=False))
    grace = timedelta(days=settings.ENV.ARCHIVE_GRACE_DAYS)
    since = away.aggregate(at=Min("archived_at"))["at"]
    return Preview(
        here=_going(unkept(here)),
        away=_going(away),
        kept=kept_by(runs),
        first_due=since + grace if since else None,
        due=away.filter(archived_at__lte=now - grace).count(),
    )


def _going(runs: QuerySet[Run]) -> Going:
    n_runs = runs.count()
    steps = runs.aggregate(n=Coalesce(Sum("n_steps"), 0))["n"]
    freed = freed_bytes(runs) if n_runs <= EXACTLY else None
    return Going(n_runs, steps, bytes_of(runs), freed)


def freed_bytes(runs: QuerySet[Run]) -> int:
    """Bytes of the files that no other run refers to."""
    ids = list(runs.order_by().values_list("pk", flat=True))
    hashes = sorted(blobs_of_runs(ids))
    freed = 0
    for start in range(0, len(hashes), BLOBS_AT_ONCE):
        freed += _freed(set(hashes[start : start + BLOBS_AT_ONCE]), ids)
    return freed


def _freed(hashes: set[str], ids: Sequence[UUID]) -> int:
    own = set(hashes)
    for model, name in references():
        if model is Blob:
            continue
        rows = model._default_manager.filter(**{f"{name}__in": list(own)})
        if model in (Step, Attachment):
            rows = rows.exclude(run__among=ids)
        own -= set(rows.order_by().values_list(f"{name}_id", flat=True).distinct())
    of_blobs = Coalesce("stored_size", "size")
    pictures = Blob.objects.filter(pk__in=own)
    small = Blob.objects.filter(pk__in=pictures.values("thumbnail"))
    total: int = pictures.aggregate(n=Coalesce(Sum(of_blobs), 0))["n"]
    return total + int(small.aggregate(n=Coalesce(Sum(of_blobs), 0))["n"])
