"""Whether the store holds what the rows say, and nothing else."""

import hashlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache

from django.apps import apps
from django.db import IntegrityError, models, transaction
from django.db.models import Exists, OuterRef, ProtectedError, Q
from django.utils import timezone

from runs.models import Blob, PendingDeletion
from runs.storage.blobs import MissingBlobError, read_blob, storage_name
from runs.storage.file_storage import StoredFile, blob_storage
from webagent.measures import batched

ROWS_AT_ONCE = 500
FILES_AT_ONCE = 50
"""So many files are deleted in one transaction. Whoever stores one of them waits for it, and on
SQLite everybody who writes: a service that speaks S3 takes 20 ms for each."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A blob that is not what its row says."""

    sha256: str
    reason: str


@dataclass(slots=True)
class BlobReport:
    """What a check found. Orphans do no harm but take space."""

    n_checked: int = 0
    n_bytes: int = 0
    damaged: list[Damage] = field(default_factory=list)
    orphan_files: list[str] = field(default_factory=list)
    """Files that no row names, unfinished writes of dead processes among them."""
    unused: list[str] = field(default_factory=list)
    """Hashes of rows that no run refers to any more."""
    n_deleted: int = 0


def check_content(report: BlobReport) -> Iterator[None]:
    """Read and hash every blob, noting the damaged; yields after each."""
    for blob in _blobs():
        if reason := _fault(blob):
            report.damaged.append(Damage(blob.pk, reason))
        report.n_checked += 1
        report.n_bytes += blob.size
        yield


def check_files(report: BlobReport) -> Iterator[None]:
    """Look whether every blob has its file, without reading it; yields after each."""
    for blob, _file in _side_by_side():
        if blob is None:
            continue
        # A file may have been stored after the store was listed.
        if _file is None and not blob_storage().exists(storage_name(blob)):
            report.damaged.append(Damage(blob.pk, "its file is gone"))
        report.n_checked += 1
        report.n_bytes += blob.size
        yield


def check_references(report: BlobReport) -> None:
    """Note references to blobs without a row (only a damaged database has them)."""
    for model, name in references():
        column = f"{name}_id"
        dangling = (
            model._default_manager.filter(~Q(**{column: None}))
            .exclude(Exists(Blob.objects.filter(pk=OuterRef(column))))
            .values_list(column, flat=True)
        )
        where = f"{model._meta.verbose_name} refers to it, and it is not there"
        report.damaged.extend(Damage(sha256, where) for sha256 in dangling.distinct())


def find_orphans(report: BlobReport) -> None:
    """Note rows that nothing refers to, and files that no row names."""
    report.unused.extend(unused_blobs().order_by("pk").values_list("pk", flat=True))
    report.orphan_files.extend(file.name for file in orphan_files())


def orphan_files() -> Iterator[StoredFile]:
    """Files that no row names, in constant memory."""
    for blob, file in _side_by_side():
        if blob is None and file is not None:
            yield file


def delete_orphans(report: BlobReport, *, grace: timedelta) -> None:
    """Delete orphans that have lain there for the grace period; newer ones may be in the making."""
    before = timezone.now() - grace
    report.n_deleted += delete_unused(report.unused, before=before)
    report.n_deleted += delete_unnamed(report.orphan_files, before=before)


def delete_unused(hashes: list[str], *, before: datetime) -> int:
    """Delete those of the blobs, rows and files, that nothing refers to; how many of both.

    A picture refers to its thumbnail, which may be unused only once the picture has gone. Rows go
    before their files, some at a time: of what is killed in between, these few files are left
    without rows.

    Args:
        before: younger rows and files stay; they may belong to what is being stored now.
    """
    n_deleted = 0
    for some in batched(hashes, FILES_AT_ONCE):
        old = unused_blobs().filter(pk__among=some, created_at__lt=before)
        files = [storage_name(blob) for blob in old.only("compressed")]
        n_deleted += _delete_rows(old)
        n_deleted += delete_unnamed(files, before=before)
    return n_deleted


def delete_unnamed(names: Sequence[str], *, before: datetime) -> int:
    """Delete those of the files that no row names, unless they are younger; how many went."""
    keys = {name: name.rpartition("/")[2].split(".")[0][:64] for name in names}
    # In order, as writers insert their rows, so that nobody waits in a circle.
    ordered = sorted(names, key=lambda name: keys[name])
    some_at_a_time = batched(ordered, FILES_AT_ONCE)
    return sum(_delete_unnamed(some, keys, before) for some in some_at_a_time)


def _delete_unnamed(names: Sequence[str], keys: Mapping[str, str], before: datetime) -> int:
    """While this transaction holds the rows' keys, nobody else can name the files.

    A writer that renewed one meanwhile looks again once it can (`BlobBatch.save`).
    """
    ours = f"held-by/{secrets.token_hex(8)}"
    hashes = [keys[name] for name in names]
    with transaction.atomic():
        Blob.objects.bulk_create(
            [Blob(pk=sha256, media_type=ours, size=0) for sha256 in dict.fromkeys(hashes)],
            ignore_conflicts=True,
        )
        # Those that had a row before, which may name the file or another one of its content.
        rows = Blob.objects.filter(pk__among=sorted(set(hashes))).exclude(media_type=ours)
        named = {storage_name(row) for row in rows.order_by("pk").select_for_update()}
        going = [name for name in names if name not in named]
        n_deleted = sum(blob_storage().delete_if_older(name, before) for name in going)
        transaction.set_rollback(True)
    return n_deleted


def _delete_rows(blobs: models.QuerySet[Blob]) -> int:
    """How many went: those that somebody has come to refer to meanwhile stay."""
    try:
        with transaction.atomic():
            return blobs.delete()[0]
    except (IntegrityError, ProtectedError):
        one_by_one = list(blobs.values_list("pk", flat=True))
        if len(one_by_one) == 1:
            return 0
        return sum(_delete_rows(unused_blobs().filter(pk=pk)) for pk in one_by_one)


def unused_blobs() -> models.QuerySet[Blob]:
    """Blobs that no row of any app refers to: no step, attachment, picture (as its thumbnail)."""
    blobs = Blob.objects.all()
    for model, name in references():
        blobs = blobs.exclude(Exists(model._default_manager.filter(**{name: OuterRef("pk")})))
    return blobs


@cache
def references() -> tuple[tuple[type[models.Model], str], ...]:
    """Every column of any app that refers to blobs and keeps them."""
    return tuple(
        (model, field.name)
        for model in apps.get_models()
        if model is not PendingDeletion
        for field in model._meta.concrete_fields
        if isinstance(field, models.ForeignKey) and field.related_model is Blob
    )


def _blobs() -> Iterator[Blob]:
    return Blob.objects.order_by("pk").iterator(chunk_size=ROWS_AT_ONCE)


def _side_by_side() -> Iterator[tuple[Blob | None, StoredFile | None]]:
    """Rows and files in one order: pairs, rows without a file, files without a row.

    Both sides come by hash, so neither is ever held whole.
    """
    blobs, files = _blobs(), blob_storage().walk()
    blob, file = next(blobs, None), next(files, None)
    while blob is not None or file is not None:
        name = storage_name(blob) if blob is not None else None
        if file is None or (name is not None and name < file.name):
            yield blob, None
            blob = next(blobs, None)
        elif name is None or file.name < name:
            yield None, file
            file = next(files, None)
        else:
            yield blob, file
            blob, file = next(blobs, None), next(files, None)


def _fault(blob: Blob) -> str | None:
    try:
        content = read_blob(blob)
    except MissingBlobError as error:
        return str(error)
    if len(content) != blob.size:
        return f"{len(content)} bytes instead of {blob.size}"
    if hashlib.sha256(content).hexdigest() != blob.pk:
        return "its bytes are no longer those that its hash names"
    return None
