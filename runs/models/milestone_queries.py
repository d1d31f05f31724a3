"""Reads of milestones."""

from __future__ import annotations

from typing import Self, TypeVar

from django.db import models

MilestoneRow = TypeVar("MilestoneRow", bound=models.Model, covariant=True)


class MilestoneQuerySet(models.QuerySet[MilestoneRow]):
    """Queries over milestones. Generic, since the model is defined above this layer."""

    def in_force(self) -> Self:
        """Those that were not removed, in the order of their tasks."""
        return self.filter(removed_at__isnull=True)
