"""Claims of uploaded files, as single conditional updates, like those of runs."""

from __future__ import annotations

from typing import Any, Self, TypeVar
from uuid import UUID

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now

from runs.querysets.queue import from_now

# The words of `runs.models.ImportJob.Status`, which stands above this layer.
QUEUED, RUNNING, FAILED = "queued", "running", "failed"

JobRow = TypeVar("JobRow", bound=models.Model, covariant=True)


class ImportJobQuerySet(models.QuerySet[JobRow]):
    """Queries over imports. Generic, since the model is defined above this layer."""

    def waiting(self) -> Self:
        """Those to be taken up: new ones, and those whose worker let the lease run out."""
        return self.filter(Q(status=QUEUED) | Q(status=RUNNING, lease_expires_at__lt=Now()))

    def take_undispatched(self, *, older_than_s: float) -> list[UUID]:
        """Ids of waiting imports of which no worker was told lately; they count as told now."""
        untold = self.waiting().filter(Q(lease_expires_at=None) | Q(lease_expires_at__lt=Now()))
        ids = list(untold.order_by("created_at").values_list("pk", flat=True))
        self.filter(pk__in=ids, status=QUEUED).update(lease_expires_at=from_now(older_than_s))
        return ids

    def claim(self, job_id: UUID, *, lease_s: float, max_claims: int) -> JobRow | None:
        """Take up one import; None if it is not there to be had.

        The returned row carries the fencing token in `lease_token`.
        """
        row = self.waiting().filter(pk=job_id, lease_token__lt=max_claims).first()
        if row is None:
            return None
        token: int = getattr(row, "lease_token")  # noqa: B009 (the model stands above this layer)
        won = self.waiting().filter(pk=job_id, lease_token=token)
        taken = won.update(
            status=RUNNING,
            lease_token=F("lease_token") + 1,
            lease_expires_at=from_now(lease_s),
            started_at=Coalesce("started_at", Now()),
        )
        return self.get(pk=job_id) if taken else None

    def renew(self, job_id: UUID, token: int, *, lease_s: float, **changes: Any) -> bool:
        """Keep an import, writing `changes`; False if another has it now."""
        held = self.filter(pk=job_id, status=RUNNING, lease_token=token)
        return bool(held.update(lease_expires_at=from_now(lease_s), **changes))

    def end(self, job_id: UUID, token: int, *, status: str, **changes: Any) -> bool:
        """End an import that we hold; False if another has it now."""
        held = self.filter(pk=job_id, status=RUNNING, lease_token=token)
        return bool(held.update(status=status, ended_at=Now(), lease_expires_at=None, **changes))

    def give_up(self, *, max_claims: int, error: str) -> int:
        """Fail those whose workers died time and again; returns how many."""
        hopeless = self.waiting().filter(lease_token__gte=max_claims)
        return hopeless.update(status=FAILED, ended_at=Now(), lease_expires_at=None, error=error)
