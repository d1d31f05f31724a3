"""Reads of disputes."""

from __future__ import annotations

from typing import Self, TypeVar

from django.db import models

# The words of `judging.models`, which stands above this layer.
DISPUTED, SETTLED = "disputed", "settled"

DisputeRow = TypeVar("DisputeRow", bound=models.Model, covariant=True)


class DisputeQuerySet(models.QuerySet[DisputeRow]):
    """Queries over disputes. Generic, since the model is defined above this layer."""

    def waiting(self) -> Self:
        """Not decided yet, in studies that are still open; the longest waiting first."""
        return self.filter(item__status=DISPUTED, item__study__is_open=True).order_by("opened_at")

    def decided(self) -> Self:
        """Decided ones, the latest first."""
        return self.filter(item__status=SETTLED).order_by("-item__verdict__decided_at")

    def for_list(self) -> Self:
        """With everything a row shows; nothing of the run that may be hidden."""
        return self.select_related("item__study", "item__run__task", "item__verdict").defer(
            "item__run__record", "item__run__evidence", "item__run__task__record"
        )
