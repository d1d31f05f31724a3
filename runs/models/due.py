"""Which queued runs may start, and which are under way here."""

from __future__ import annotations

from typing import Self, TypeVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from webagent.trajectory.pushed.runs import PUSH_FORMAT

# The words of `runs.models.RunStatus`, which stands above this layer.
QUEUED = "queued"
HELD = ("leased", "running")

RunRow = TypeVar("RunRow", bound=models.Model, covariant=True)


class DueQuerySet(models.QuerySet[RunRow]):
    """Runs by whether their time has come."""

    def due(self) -> Self:
        """Queued runs that may start now, as far as that does not hang on their experiment."""
        waited = Q(not_before=None) | Q(not_before__lte=Now())
        return self.filter(waited, status=QUEUED, cancel_requested_at=None)

    def held_here(self) -> Self:
        """Runs that workers of this installation hold: those pushed from elsewhere take no room."""
        return self.filter(status__in=HELD).exclude(source_format=PUSH_FORMAT)
