"""Whether the store holds what the rows say, and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.core.files.storage import Storage, default_storage
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from runs.blobs import MissingBlobError, read_blob, storage_name
from runs.models import Attachment, Blob, Step
from runs.storage import BlobFileStorage

ROWS_AT_ONCE = 500
STEP_COLUMNS = tuple(
    field.name
    for field in Step._meta.concrete_fields
    if isinstance(field, models.ForeignKey) and field.related_model is Blob
)


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
    for blob in Blob.objects.order_by("pk").iterator(chunk_size=ROWS_AT_ONCE):
        if reason := _fault(blob):
            report.damaged.append(Damage(blob.pk, reason))
        report.n_checked += 1
        report.n_bytes += blob.size
        yield


def check_files(report: BlobReport) -> Iterator[None]:
    """Look whether every blob has its file, without reading it; yields after each."""
    for blob in Blob.objects.order_by("pk").iterator(chunk_size=ROWS_AT_ONCE):
        if not default_storage.exists(storage_name(blob)):
            report.damaged.append(Damage(blob.pk, "its file is gone"))
        report.n_checked += 1
        report.n_bytes += blob.size
        yield


def check_references(report: BlobReport) -> None:
    """Note references to blobs without a row (only a damaged database has them)."""
    references: list[tuple[type[models.Model], str]] = [
        *((Step, name) for name in STEP_COLUMNS),
        (Attachment, "blob"),
        (Blob, "thumbnail"),
    ]
    for model, name in references:
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
    named = {storage_name(blob) for blob in Blob.objects.only("compressed").iterator()}
    report.orphan_files.extend(name for name in stored_names() if name not in named)


def delete_orphans(report: BlobReport, *, grace: timedelta) -> None:
    """Delete orphans that have lain there for the grace period; newer ones may be in the making."""
    before = timezone.now() - grace
    old = unused_blobs().filter(pk__among=report.unused, created_at__lt=before)
    files = [storage_name(blob) for blob in old.only("compressed")]
    # A picture refers to its thumbnail, which may be unused only once the picture has gone.
    report.n_deleted += old.delete()[0]
    for name in [*report.orphan_files, *files]:
        if not _has_row(name) and _delete_file(name, before):
            report.n_deleted += 1


def unused_blobs() -> models.QuerySet[Blob]:
    """Blobs that no step, attachment or picture (as its thumbnail) refers to."""
    blobs = Blob.objects.exclude(Exists(Attachment.objects.filter(blob=OuterRef("pk"))))
    for name in STEP_COLUMNS:
        blobs = blobs.exclude(Exists(Step.objects.filter(**{name: OuterRef("pk")})))
    return blobs.exclude(Exists(Blob.objects.filter(thumbnail=OuterRef("pk"))))


def stored_names(folder: str = "", storage: Storage | None = None) -> Iterator[str]:
    """Every file in the store."""
    storage = storage or default_storage
    folders, files = storage.listdir(folder)
    yield from (f"{folder}{name}" for name in sorted(files))
    for name in sorted(folders):
        yield from stored_names(f"{folder}{name}/", storage)


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


def _has_row(name: str) -> bool:
    sha256 = name.rpartition("/")[2].split(".")[0]
    row = Blob.objects.filter(pk=sha256).first()
    return row is not None and storage_name(row) == name


def _delete_file(name: str, before: datetime) -> bool:
    storage = default_storage
    if isinstance(storage, BlobFileStorage):
        return storage.delete_if_older(name, before)
    if storage.get_modified_time(name) >= before:
        return False
    storage.delete(name)
    return True
