"""Claims of learning jobs, as single conditional updates, like those of runs."""

from __future__ import annotations

from typing import Any, Self, TypeVar
from uuid import UUID

from django.db import IntegrityError, models, transaction
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Coalesce, Now

from runs.querysets.queue import from_now

# The words of `runs.models.LearningJob.State`, which stands above this layer.
QUEUED, RUNNING, CANCELLED, FAILED = "queued", "running", "cancelled", "failed"
STOPPED = ("cancelled", "stopped_by_budget", "failed")

JobRow = TypeVar("JobRow", bound=models.Model, covariant=True)


class LearningJobQuerySet(models.QuerySet[JobRow]):
    """The verbs of the queue of jobs. Generic, since the model is defined above this layer."""

    def active(self) -> Self:
        """Those that wait or run."""
        return self.filter(state__in=(QUEUED, RUNNING))

    def waiting(self) -> Self:
        """Those to be taken up: new ones, and those whose worker let the lease run out."""
        return self.filter(Q(state=QUEUED) | Q(state=RUNNING, lease_expires_at__lt=Now()))

    def claim(self, job_id: UUID, *, lease_s: float) -> JobRow | None:
        """Take up one job; None if it is not there to be had, or another asks its model.

        The returned row carries the fencing token in `lease_token`. A claim after one in which
        no item was done counts in `n_barren`.
        """
        token = self.waiting().filter(pk=job_id).values_list("lease_token", flat=True).first()
        if token is None:
            return None
        got_further = Q(n_done__gt=F("n_done_at_claim")) | Q(state=QUEUED)
        try:
            with transaction.atomic():
                taken = (
                    self.waiting()
                    .filter(pk=job_id, lease_token=token)
                    .update(
                        state=RUNNING,
                        lease_token=F("lease_token") + 1,
                        lease_expires_at=from_now(lease_s),
                        n_barren=Case(When(got_further, then=Value(0)), default=F("n_barren") + 1),
                        n_done_at_claim=F("n_done"),
                        claimed_at=Now(),
                        started_at=Coalesce("started_at", Now()),
                    )
                )
        except IntegrityError:
            return None
        return self.get(pk=job_id) if taken else None

    def renew(self, job_id: UUID, token: int, *, lease_s: float, **changes: Any) -> bool:
        """Keep a job, writing `changes`; False if another has it now.

        Inside a transaction this is the fence: whatever is written next lands before anyone can
        take the job away, or not at all.
        """
        held = self.filter(pk=job_id, state=RUNNING, lease_token=token)
        return bool(held.update(lease_expires_at=from_now(lease_s), **changes))

    def end(self, job_id: UUID, token: int, *, state: str, **changes: Any) -> bool:
        """End a job that we hold; False if another has it now."""
        held = self.filter(pk=job_id, state=RUNNING, lease_token=token)
        return bool(held.update(state=state, ended_at=Now(), lease_expires_at=None, **changes))

    def hand_back(self, job_id: UUID, token: int) -> bool:
        """Put back a job that we hold, for the next worker."""
        held = self.filter(pk=job_id, state=RUNNING, lease_token=token)
        return bool(held.update(state=QUEUED, lease_expires_at=None, dispatched_at=None))

    def request_cancel(self, job_id: UUID) -> bool:
        """Ask that a job stops; False if it has ended already. A waiting one ends at once."""
        waiting = self.filter(pk=job_id, state=QUEUED)
        if waiting.update(state=CANCELLED, ended_at=Now(), cancel_requested_at=Now()):
            return True
        return bool(self.filter(pk=job_id, state=RUNNING).update(cancel_requested_at=Now()))

    def resume(self, job_id: UUID, **changes: Any) -> bool:
        """Queue a stopped job again, where it stopped; False if there is nothing to resume."""
        again = {
            "state": QUEUED,
            "cancel_requested_at": None,
            "dispatched_at": None,
            "ended_at": None,
            "problem": "",
            "n_barren": 0,
        }
        return bool(self.filter(pk=job_id, state__in=STOPPED).update(**again | changes))

    def cancel_abandoned(self) -> int:
        """End those that were to be cancelled and whose worker is gone."""
        abandoned = self.filter(
            state=RUNNING, lease_expires_at__lt=Now(), cancel_requested_at__isnull=False
        )
        return abandoned.update(state=CANCELLED, ended_at=Now(), lease_expires_at=None)

    def give_up(self, *, max_barren: int, problem: str) -> int:
        """Fail those whose workers died time and again without getting further; how many."""
        hopeless = self.filter(
            state=RUNNING,
            lease_expires_at__lt=Now(),
            n_barren__gte=max_barren - 1,
            n_done=F("n_done_at_claim"),
        )
        return hopeless.update(state=FAILED, ended_at=Now(), lease_expires_at=None, problem=problem)

    def take_undispatched(self, *, older_than_s: float) -> list[UUID]:
        """Ids of waiting jobs of which no worker was told lately; told now."""
        unsent = Q(dispatched_at=None) | Q(dispatched_at__lt=from_now(-older_than_s))
        ids = self.waiting().filter(unsent).order_by("created_at").values_list("pk", flat=True)
        return [pk for pk in ids if self.filter(unsent, pk=pk).update(dispatched_at=Now())]

    def undispatch(self, job_ids: list[UUID]) -> None:
        """Forget that messages of waiting jobs were sent: they were not, or came too soon."""
        self.filter(pk__in=job_ids, state=QUEUED).update(dispatched_at=None)
