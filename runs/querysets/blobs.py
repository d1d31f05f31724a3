"""Reads of blobs."""

from __future__ import annotations

from typing import TypeVar

from django.db import models

BlobRow = TypeVar("BlobRow", bound=models.Model, covariant=True)


class BlobQuerySet(models.QuerySet[BlobRow]):
    """Queries over blobs. Generic, since the model is defined above this layer."""
