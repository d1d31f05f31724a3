"""Blob stores of their own for tests that look into them or break them."""

import hashlib
from pathlib import Path
from typing import Any

from django.core.files.storage import storages

from runs.models import Blob
from runs.storage.blobs import BlobBatch

STATIC = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}


def use_store(settings: Any, folder: Path, *, fails_at: int | None = None) -> Path:
    """Have the test store blobs in this folder; its disk is full from write `fails_at` on."""
    options: dict[str, Any] = {"location": str(folder)}
    backend = "runs.storage.file_storage.BlobFileStorage"
    if fails_at is not None:
        backend = "tests.runs.storage.failing_storage.FullStorage"
        options["fails_at"] = fails_at
    settings.STORAGES = {"default": {"BACKEND": backend, "OPTIONS": options}, **STATIC}
    # Made now: threads that ask for it first at the same moment would get one each.
    storages["default"]
    return folder


def files_in(folder: Path) -> list[Path]:
    """Every file in the store."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def store_blob(content: bytes, media_type: str) -> Blob:
    """Keep these bytes, once; the row that stands for them, saved.

    See `BlobBatch.add` for what is made of the media type.
    """
    known = Blob.objects.filter(pk=hashlib.sha256(content).hexdigest()).first()
    if known is not None:
        return known
    batch = BlobBatch()
    blob = batch.add(content, media_type)
    batch.save()
    return Blob.objects.get(pk=blob.pk)
