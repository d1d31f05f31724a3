"""What runs take of the store, from their rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet, Sum
from django.db.models.functions import Coalesce

from runs.models import Attachment, Blob, Run, RunSpace, RunStatus, Step

RUNS_AT_ONCE = 200
PICTURES = ("screenshot_id", "marked_screenshot_id", "after_screenshot_id")
TREES = ("tree_id", "after_tree_id")
SOURCE_ROLES = ("artefact", "original")
KINDS = ("screenshots", "thumbnails", "trees", "sources", "evidence")

Files = dict[UUID, dict[str, str]]
"""Kind of each file, by run and hash; a file of several kinds has the first."""


def measure_runs(runs: QuerySet[Run], *, at_most: int | None = None) -> int:
    """Store the space of the ended runs that have none yet; how many."""
    unmeasured = runs.filter(
        ~Exists(RunSpace.objects.filter(run=OuterRef("pk"))), status__in=RunStatus.ended()
    ).order_by()
    ids = list(unmeasured.values_list("pk", flat=True)[:at_most])
    for start in range(0, len(ids), RUNS_AT_ONCE):
        some = spaces_of(ids[start : start + RUNS_AT_ONCE])
        RunSpace.objects.bulk_create(some, ignore_conflicts=True)
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
