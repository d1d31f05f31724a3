"""What runs take of the store, how much an experiment may hold, and what a deleted run leaves."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.translation import gettext as _

from runs.models import (
    Attachment,
    Blob,
    DeletedRun,
    Experiment,
    PendingDeletion,
    Run,
    RunSpace,
    RunStatus,
    Step,
    User,
)
from webagent.measures import batched

RUNS_AT_ONCE = 200
PICTURES = ("screenshot_id", "marked_screenshot_id", "after_screenshot_id")
TREES = ("tree_id", "after_tree_id")
SOURCE_ROLES = ("artefact", "source")
KINDS = ("screenshots", "thumbnails", "trees", "sources", "evidence")

Files = dict[UUID, dict[str, str]]
"""Kind of each file, by run and hash; a file of several kinds has the first."""


def measure_runs(runs: QuerySet[Run]) -> int:
    """Store the space of the ended runs that have none yet; how many."""
    unmeasured = runs.filter(
        ~Exists(RunSpace.objects.filter(run=OuterRef("pk"))), status__in=RunStatus.ended()
    ).order_by()
    ids = list(unmeasured.values_list("pk", flat=True))
    for some in batched(ids, RUNS_AT_ONCE):
        RunSpace.objects.bulk_create(spaces_of(some), ignore_conflicts=True)
    return len(ids)


def spaces_of(ids: Sequence[UUID]) -> list[RunSpace]:
    """The space of each run, not saved; nine queries, however many runs."""
    files = _files_of(ids)
    sizes = _sizes({sha256 for kinds in files.values() for sha256 in kinds})
    return [_space(run_id, files[run_id], sizes) for run_id in ids]


def forget_runs_with(hashes: Sequence[str]) -> None:
    """Have the runs that refer to these files measured anew, for something was added to them."""
    for column in PICTURES:
        steps = Step.objects.filter(**{f"{column}__in": hashes}).order_by()
        RunSpace.objects.filter(run__in=steps.values("run")).delete()
    attached = Attachment.objects.filter(blob__in=hashes).order_by()
    RunSpace.objects.filter(run__in=attached.values("run")).delete()


def bytes_of(runs: QuerySet[Run]) -> int:
    """Bytes of all the runs, each by itself; those not measured yet are measured now."""
    measure_runs(runs)
    measured = RunSpace.objects.filter(run__in=runs.order_by().values("pk"))
    total: int = measured.aggregate(n=Coalesce(Sum("total"), 0))["n"]
    return total


def _files_of(ids: Sequence[UUID]) -> Files:
    files: Files = defaultdict(dict)
    columns = (*PICTURES, *TREES)
    steps = Step.objects.filter(run__in=ids).order_by().values_list("run_id", *columns)
    for run_id, *hashes in steps.iterator(chunk_size=2000):
        for column, sha256 in zip(columns, hashes, strict=True):
            if sha256:
                files[run_id].setdefault(sha256, "screenshots" if column in PICTURES else "trees")
    attached = Attachment.objects.filter(run__in=ids).order_by()
    for run_id, role, sha256 in attached.values_list("run_id", "role", "blob_id"):
        files[run_id].setdefault(sha256, "sources" if role in SOURCE_ROLES else "evidence")
    return files


def _sizes(hashes: Iterable[str]) -> dict[str, tuple[int, str | None, int]]:
    """Bytes of each file, and its thumbnail with its bytes."""
    stored = Coalesce("stored_size", "size")
    of_thumbnail = Coalesce("thumbnail__stored_size", "thumbnail__size", 0)
    rows = Blob.objects.filter(pk__among=sorted(hashes)).order_by()
    found = rows.annotate(n=stored, n_small=of_thumbnail)
    return {
        sha256: (n, thumbnail, n_small)
        for sha256, n, thumbnail, n_small in found.values_list("pk", "n", "thumbnail_id", "n_small")
    }


def _space(
    run_id: UUID, kinds: dict[str, str], sizes: dict[str, tuple[int, str | None, int]]
) -> RunSpace:
    found: dict[str, int] = dict.fromkeys(KINDS, 0)
    thumbnails: dict[str, int] = {}
    for sha256, kind in kinds.items():
        size, thumbnail, small = sizes[sha256]
        found[kind] += size
        if thumbnail and thumbnail not in kinds:
            thumbnails[thumbnail] = small
    found["thumbnails"] += sum(thumbnails.values())
    n_files = len(kinds) + len(thumbnails)
    return RunSpace(run_id=run_id, n_files=n_files, total=sum(found.values()), **found)


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
    for row in steps.values_list(*PICTURES, *TREES).iterator():
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
    rows = [PendingDeletion(blob_id=sha256, since=timezone.now()) for sha256 in sorted(there)]
    PendingDeletion.objects.bulk_create(rows, ignore_conflicts=True, batch_size=BLOBS_AT_ONCE)


class QuotaError(Exception):
    """The experiment has no room; the message says to people how much it holds and may hold."""


def demand_room(experiment: Experiment | None, *, n_runs: int, n_bytes: int = 0) -> None:
    """Do nothing if so much more may come.

    Inside a transaction the experiment is held from here to its end, so of several that would
    each fit only so many get through as fit together. Without a quota nothing is held or counted.

    Raises:
        QuotaError: it would hold more than it may.
    """
    if experiment is None or (experiment.max_runs is None and experiment.max_bytes is None):
        return
    rows = Experiment.objects.all()
    if transaction.get_connection().in_atomic_block:
        rows = rows.select_for_update(no_key=True)
    held = rows.get(pk=experiment.pk)
    runs = Run.objects.filter(experiment=held)
    if held.max_runs is not None and (there := runs.count()) + n_runs > held.max_runs:
        raise QuotaError(
            _("The experiment %(name)s holds %(n)d runs and may hold %(max)d.")
            % {"name": held.name, "n": there, "max": held.max_runs}
        )
    if held.max_bytes is None:
        return
    under_way = list(runs.filter(status=RunStatus.RUNNING).values_list("pk", flat=True))
    used = bytes_of(runs) + sum(space.total for space in spaces_of(under_way))
    if used + n_bytes > held.max_bytes or (not n_bytes and used >= held.max_bytes):
        raise QuotaError(
            _("The files of experiment %(name)s take %(n)s and may take %(max)s; these %(more)s.")
            % {
                "name": held.name,
                "n": filesizeformat(used),
                "max": filesizeformat(held.max_bytes),
                "more": filesizeformat(n_bytes),
            }
        )
