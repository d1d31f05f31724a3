"""How full the store is, measured now and then in the background; the clean-up that follows."""

import time
from datetime import timedelta
from typing import Any

from celery import shared_task
from django.db import IntegrityError
from django.db.models import Count, QuerySet, Sum
from django.db.models.functions import Coalesce, TruncDate
from django.utils import timezone

from runs.imports.thumbnailing import thumbnails_wait
from runs.models import Blob, PendingDeletion, Run, RunSpace, SpaceMeasurement
from runs.operations.blob_checks import orphan_files
from runs.operations.space.retention import apply_retention, delete_pending
from runs.queue.sweeping import swept
from runs.queue.workers import ask_for
from runs.storage.usage import KINDS, measure_runs

AT_MOST_EVERY_S = 600
SHARE_OF_TIME = 50
"""A measurement that took a second is not repeated within so many."""
DAYS = 30
LARGEST = 20
EXPERIMENTS = 500
LISTED_FILES = 200_000
"""In a larger store files are compared with rows by `check_blobs` alone."""


def is_due() -> bool:
    """Whether it is time to measure again; of several that ask, one is told so."""
    last = SpaceMeasurement.objects.first()
    now = timezone.now()
    if last is None:
        return _is_first(now)
    wait = timedelta(seconds=max(AT_MOST_EVERY_S, SHARE_OF_TIME * last.seconds))
    if last.measured_at + wait > now:
        return False
    mine = SpaceMeasurement.objects.filter(pk=last.pk, measured_at=last.measured_at)
    return bool(mine.update(measured_at=now))


def measure_space() -> SpaceMeasurement:
    """Measure all runs that were not measured yet, and everything together."""
    began = time.monotonic()
    measure_runs(_settled())
    stored = Blob.objects.aggregate(n=Count("pk"), size=Coalesce(Sum(_stored()), 0))
    figures = {
        "by_kind": _by_kind(),
        "by_experiment": _by_experiment(),
        "largest": _largest(),
        "added": _added(),
        "unused": _unused(),
        "orphans": _orphans(stored["n"]),
    }
    now = timezone.now()
    measurement, _is_new = SpaceMeasurement.objects.update_or_create(
        day=timezone.localdate(now),
        defaults={
            "measured_at": now,
            "seconds": time.monotonic() - began,
            "n_files": stored["n"],
            "stored": stored["size"],
            "figures": figures,
        },
    )
    return measurement


def measure_anew() -> SpaceMeasurement:
    """The same, after forgetting what was measured of each run."""
    RunSpace.objects.all().delete()
    return measure_space()


def _settled() -> QuerySet[Run]:
    """Runs whose thumbnails are made: all of them, or where some wait those of an hour ago."""
    if not thumbnails_wait():
        return Run.objects.all()
    return Run.objects.filter(created_at__lt=timezone.now() - timedelta(hours=1))


def _is_first(now: Any) -> bool:
    try:
        SpaceMeasurement.objects.create(
            day=timezone.localdate(now), measured_at=now, seconds=0, n_files=0, stored=0
        )
    except IntegrityError:
        return False
    return True


def _stored() -> Coalesce:
    return Coalesce("stored_size", "size")


def _by_kind() -> dict[str, int]:
    sums = {kind: Coalesce(Sum(kind), 0) for kind in (*KINDS, "total")}
    return RunSpace.objects.aggregate(runs=Count("pk"), **sums)


def _by_experiment() -> list[dict[str, Any]]:
    """The largest experiments, and what belongs to none, with the bytes of each kind."""
    sums: dict[str, Any] = {f"{kind}_sum": Coalesce(Sum(kind), 0) for kind in (*KINDS, "total")}
    spaces: Any = RunSpace.objects.order_by().values("run__experiment")
    rows = spaces.annotate(runs=Count("pk"), **sums).order_by("-total_sum")[:EXPERIMENTS]
    return [
        {"experiment": row["run__experiment"], "runs": row["runs"]}
        | {kind: row[f"{kind}_sum"] for kind in (*KINDS, "total")}
        for row in rows
    ]


def _largest() -> list[dict[str, Any]]:
    rows = RunSpace.objects.order_by("-total")[:LARGEST]
    return [{"run": str(space.run_id), "total": space.total} for space in rows]


def _added() -> list[dict[str, Any]]:
    """Bytes that came on each of the last days and are still there."""
    since = timezone.now() - timedelta(days=DAYS)
    days = Blob.objects.filter(created_at__gte=since).annotate(day=TruncDate("created_at"))
    rows = days.values("day").annotate(size_sum=Sum(_stored())).order_by("day")
    return [{"day": row["day"].isoformat(), "size": row["size_sum"]} for row in rows]


def _unused() -> dict[str, int]:
    """Files of deleted runs that the clean-up has not looked at yet."""
    pending = Blob.objects.filter(pk__in=PendingDeletion.objects.values("pk"))
    return pending.aggregate(n=Count("pk"), size=Coalesce(Sum(_stored()), 0))


def _orphans(n_files: int) -> dict[str, int] | None:
    """Files that no row names; None in a store that is too large to be listed for this."""
    if n_files > LISTED_FILES:
        return None
    found = {"n": 0, "size": 0}
    for file in orphan_files():
        found = {"n": found["n"] + 1, "size": found["size"] + file.size}
    return found


MEASURE = "runs.tasks.measure_space"
AT_A_SWEEP = 2000


@shared_task(name=MEASURE)
def measure() -> None:
    """Measure how full the store is, and do what the rules of retention ask for."""
    measure_space()
    apply_retention()


@swept
def measure_when_due() -> None:
    """Ask for a measurement now and then; one whose message is lost is asked for again later."""
    if is_due():
        ask_for(MEASURE)


@swept
def clean_up() -> None:
    """Files of deleted runs go once their grace period is over."""
    delete_pending(at_most=AT_A_SWEEP)
