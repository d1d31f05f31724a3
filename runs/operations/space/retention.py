"""Archiving, restoring and deleting runs, and the files that nothing refers to after that.

A run that is kept is told under the first reason that holds of it. Those of the app above come
first: a run to which anybody is blinded is kept by a study, and nothing else is told of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, ProtectedError, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from runs.accounts.audit_log import record_entry
from runs.models import (
    DeletedRun,
    Experiment,
    Hint,
    HintSource,
    KnowledgeSource,
    PendingDeletion,
    Run,
    RunStatus,
    User,
)
from runs.models.audit_log import (
    EXPERIMENT_ARCHIVED,
    QUOTA_CHANGED,
    RETENTION_CHANGED,
    RUNS_DELETED,
)
from runs.models.extension import Reason, extension
from runs.operations.blob_checks import delete_unused, unused_blobs
from runs.storage.usage import blobs_of_runs, deletion_row, mark_for_deletion
from webagent.measures import batched

RUNS_AT_ONCE = 50
BLOBS_AT_ONCE = 500


def _reasons_of_runs() -> list[Reason]:
    repeats = Run.objects.filter(archived_at=None)
    repeated = Q(Exists(repeats.filter(rerun_of=OuterRef("pk")))) | Q(
        Exists(repeats.filter(retry_of=OuterRef("pk")))
    )
    taught = (
        Hint.objects.filter(source=OuterRef("pk")),
        HintSource.objects.filter(run=OuterRef("pk")),
        KnowledgeSource.objects.filter(run=OuterRef("pk")),
    )
    learnt = Q(*(Q(Exists(rows)) for rows in taught), _connector=Q.OR)
    return [
        Reason(_("not ended yet"), Q(status__in=RunStatus.active())),
        Reason(_("another run repeats it"), repeated),
        Reason(_("hints or web knowledge were made from it"), learnt),
    ]


def reasons() -> list[Reason]:
    """Every reason, in the order in which they are told."""
    return [*extension().deletion_reasons(), *_reasons_of_runs()]


def unkept(runs: QuerySet[Run]) -> QuerySet[Run]:
    """Those that nothing keeps."""
    for reason in reasons():
        runs = runs.exclude(reason.holds)
    return runs


def kept_by(runs: QuerySet[Run]) -> list[tuple[str | Promise, int]]:
    """How many of the runs each reason keeps; every run under its first one."""
    told = []
    for reason in reasons():
        if n := runs.filter(reason.holds).count():
            told.append((reason.words, n))
        runs = runs.exclude(reason.holds)
    return told


def delete_pending(*, at_most: int | None = None) -> int:
    """Delete pending files that nothing refers to any more; how many rows and files went.

    Those that are younger than the grace period may belong to what is being stored, and wait.
    """
    n_deleted = n_seen = 0
    before = timezone.now() - timedelta(seconds=settings.ENV.ORPHAN_GRACE_S)
    old = PendingDeletion.objects.filter(blob__created_at__lt=before).order_by("pk")
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
        PendingDeletion.objects.filter(
            pk__in=[one for one in hashes if one not in thumbnails]
        ).delete()
    return n_deleted


def _delete_some(ids: Sequence[UUID], reason: str, user: User | None) -> list[UUID]:
    """Delete and write down in one transaction: whoever is killed leaves none that went unnoted."""
    try:
        with transaction.atomic():
            if gone := _delete_whole(ids, reason, user):
                first = ", ".join(str(run_id) for run_id in gone[:10])
                before = f"{len(gone)} runs: {first}"
                record_entry(RUNS_DELETED, words=reason, before=before, user=user)
            return gone
    except (IntegrityError, ProtectedError):
        # Somebody has come to refer to one of them meanwhile: that one stays.
        if len(ids) == 1:
            return []
        return [gone for one in ids for gone in _delete_some([one], reason, user)]


def _delete_whole(ids: Sequence[UUID], reason: str, user: User | None) -> list[UUID]:
    there = Run.objects.ended().filter(pk__in=ids, archived_at__isnull=False)
    there = there.select_related("experiment", "task")
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


RULE = "the rule of its experiment"
AT_ONCE = 1000
"""Runs that are archived or restored in one transaction."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What the rules did."""

    archived: int
    deleted: int


def archive_runs(*, runs: QuerySet[Run], why: str) -> int:
    """Archive those of the runs that nothing keeps; how many.

    An attempt that another one repeats goes with that one. Some at a time, each with its entry in
    the audit log: on SQLite nobody else writes meanwhile.
    """

    @transaction.atomic
    def archive(ids: Sequence[UUID]) -> int:
        there = open_ones.filter(pk__among=ids)
        n = unkept(there).update(archived_at=timezone.now())
        if n:
            record_entry(EXPERIMENT_ARCHIVED, words=why, after=f"{n} runs")
        return n

    n_archived = 0
    open_ones = runs.filter(archived_at=None, status__in=RunStatus.ended())
    while n := _in_parts(unkept(open_ones), archive):
        n_archived += n
    return n_archived


def restore_runs(*, runs: QuerySet[Run], why: str) -> int:
    """Restore archived runs; how many. Some at a time, as they were archived."""

    @transaction.atomic
    def take_back(ids: Sequence[UUID]) -> int:
        n = Run.objects.filter(pk__among=ids, archived_at__isnull=False).update(archived_at=None)
        if n:
            record_entry(EXPERIMENT_ARCHIVED, words=why, before=f"{n} runs", after="0 runs")
        return n

    return _in_parts(runs.filter(archived_at__isnull=False), take_back)


def _in_parts(runs: QuerySet[Run], do: Callable[[Sequence[UUID]], int]) -> int:
    ids = list(runs.order_by("pk").values_list("pk", flat=True))
    return sum(map(do, batched(ids, AT_ONCE)))


def delete_archived(
    *,
    runs: QuerySet[Run],
    reason: str,
    user: User | None = None,
    waits: bool = True,
    at_most: int | None = None,
) -> list[UUID]:
    """Delete runs that were archived for the grace period, and files that nobody else has.

    Those that nothing keeps, some at a time, each with all its rows or not at all; which ones went.
    Their files become pending deletions in the same transaction.

    Args:
        waits: whether the grace period is kept.
        at_most: so many runs and files, for somebody who waits; the sweep deletes more files.
    """
    away = runs.filter(due()) if waits else runs.filter(archived_at__isnull=False)
    ids = list(unkept(away).order_by("pk").values_list("pk", flat=True)[:at_most])
    gone: list[UUID] = []
    for some in batched(ids, RUNS_AT_ONCE):
        gone += _delete_some(some, reason, user)
    if gone:
        delete_pending(at_most=at_most)
    return gone


def due() -> Q:
    """Archived runs long enough ago to be deleted."""
    grace = timedelta(days=settings.ENV.ARCHIVE_GRACE_DAYS)
    return Q(archived_at__isnull=False, archived_at__lte=timezone.now() - grace)


def past_their_time() -> QuerySet[Run]:
    """Runs that the rules of their experiments archive now, whatever keeps them."""
    ruled = Experiment.objects.filter(keep_days__isnull=False)
    old = Q(pk__in=[])
    for experiment in ruled.only("keep_days"):
        before = timezone.now() - timedelta(days=experiment.keep_days or 0)
        old |= Q(experiment=experiment, ended__lt=before)
    return Run.objects.annotate(ended=Coalesce(F("ended_at"), F("created_at"))).filter(
        old, archived_at=None
    )


def apply_retention() -> Applied:
    """Archive what the rules say, and delete what was archived long enough ago. Often is fine."""
    archived = archive_runs(runs=past_their_time(), why=RULE)
    deleted = delete_archived(runs=Run.objects.all(), reason="archived for the grace period")
    delete_pending()
    return Applied(archived, len(deleted))


@transaction.atomic
def set_limits(
    *, experiment: Experiment, max_runs: int | None, max_bytes: int | None, keep_days: int | None
) -> None:
    """Change how much the experiment may hold and how long its runs are kept; None for no limit."""
    was = Experiment.objects.select_for_update().get(pk=experiment.pk)
    Experiment.objects.filter(pk=experiment.pk).update(
        max_runs=max_runs, max_bytes=max_bytes, keep_days=keep_days
    )
    quotas = (was.max_runs, was.max_bytes), (max_runs, max_bytes)
    if quotas[0] != quotas[1]:
        before, after = (
            f"{_limit(runs, 'runs')}, {_limit(size, 'bytes')}" for runs, size in quotas
        )
        record_entry(QUOTA_CHANGED, about=was, words=was.name, before=before, after=after)
    if was.keep_days != keep_days:
        days = _limit(was.keep_days, "days"), _limit(keep_days, "days")
        record_entry(RETENTION_CHANGED, about=was, words=was.name, before=days[0], after=days[1])


def _limit(number: int | None, unit: str) -> str:
    return f"any number of {unit}" if number is None else f"{number} {unit}"
