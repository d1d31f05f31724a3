"""Claims of batches of evaluations, as single conditional updates, like those of runs."""

from __future__ import annotations

from typing import Any, Self, TypeVar
from uuid import UUID

from django.db import IntegrityError, models, transaction
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Coalesce, Now

from runs.querysets.queue import from_now

# The words of `judging.models.EvaluationBatch.State`, which stands above this layer.
QUEUED, RUNNING, CANCELLED, FAILED = "queued", "running", "cancelled", "failed"
STOPPED = ("cancelled", "stopped_by_budget", "failed")

BatchRow = TypeVar("BatchRow", bound=models.Model, covariant=True)


class EvaluationBatchQuerySet(models.QuerySet[BatchRow]):
    """The verbs of the queue of batches. Generic, since the model is defined above this layer."""

    def active(self) -> Self:
        """Those that wait or run."""
        return self.filter(state__in=(QUEUED, RUNNING))

    def waiting(self) -> Self:
        """Those to be taken up: new ones, and those whose worker let the lease run out."""
        return self.filter(Q(state=QUEUED) | Q(state=RUNNING, lease_expires_at__lt=Now()))

    def claim(self, batch_id: UUID, *, lease_s: float) -> BatchRow | None:
        """Take up one batch; None if it is not there to be had.

        Of two batches that ask the same model one waits, so that the model's limit of requests
        at a time holds. The returned row carries the fencing token in `lease_token`. A claim after
        one in which no run was evaluated counts in `n_barren`.
        """
        token = self.waiting().filter(pk=batch_id).values_list("lease_token", flat=True).first()
        if token is None:
            return None
        got_further = Q(n_done__gt=F("n_done_at_claim")) | Q(state=QUEUED)
        try:
            with transaction.atomic():
                taken = (
                    self.waiting()
                    .filter(pk=batch_id, lease_token=token)
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
        return self.get(pk=batch_id) if taken else None

    def renew(self, batch_id: UUID, token: int, *, lease_s: float, **changes: Any) -> bool:
        """Keep a batch, writing `changes`; False if another has it now.

        Inside a transaction this is the fence: whatever is written next lands before anyone can
        take the batch away, or not at all.
        """
        held = self.filter(pk=batch_id, state=RUNNING, lease_token=token)
        return bool(held.update(lease_expires_at=from_now(lease_s), **changes))

    def end(self, batch_id: UUID, token: int, *, state: str, **changes: Any) -> bool:
        """End a batch that we hold; False if another has it now."""
        held = self.filter(pk=batch_id, state=RUNNING, lease_token=token)
        return bool(held.update(state=state, ended_at=Now(), lease_expires_at=None, **changes))

    def hand_back(self, batch_id: UUID, token: int) -> bool:
        """Put back a batch that we hold, for the next worker."""
        held = self.filter(pk=batch_id, state=RUNNING, lease_token=token)
        return bool(held.update(state=QUEUED, lease_expires_at=None, dispatched_at=None))

    def request_cancel(self, batch_id: UUID) -> bool:
        """Ask that a batch stops; False if it has ended already. A waiting one ends at once."""
        waiting = self.filter(pk=batch_id, state=QUEUED)
        if waiting.update(state=CANCELLED, ended_at=Now(), cancel_requested_at=Now()):
            return True
        return bool(self.filter(pk=batch_id, state=RUNNING).update(cancel_requested_at=Now()))

    def resume(self, batch_id: UUID, **changes: Any) -> bool:
        """Queue a stopped batch again, where it stopped; False if there is nothing to resume."""
        stopped = self.filter(pk=batch_id, state__in=STOPPED)
        again = {
            "state": QUEUED,
            "cancel_requested_at": None,
            "dispatched_at": None,
            "ended_at": None,
            "error": "",
            "n_barren": 0,
        }
        return bool(stopped.update(**again | changes))

    def cancel_abandoned(self) -> int:
        """End those that were to be cancelled and whose worker is gone."""
        abandoned = self.filter(
            state=RUNNING, lease_expires_at__lt=Now(), cancel_requested_at__isnull=False
        )
        return abandoned.update(state=CANCELLED, ended_at=Now(), lease_expires_at=None)

    def give_up(self, *, max_barren: int, error: str) -> int:
        """Fail those whose workers died time and again without getting further; how many."""
        hopeless = self.filter(
            state=RUNNING,
            lease_expires_at__lt=Now(),
            n_barren__gte=max_barren - 1,
            n_done=F("n_done_at_claim"),
        )
        return hopeless.update(state=FAILED, ended_at=Now(), lease_expires_at=None, error=error)

    def take_undispatched(self, *, older_than_s: float) -> list[tuple[UUID, str]]:
        """Ids and models of waiting batches of which no worker was told lately; told now."""
        unsent = Q(dispatched_at=None) | Q(dispatched_at__lt=from_now(-older_than_s))
        rows = self.waiting().filter(unsent).order_by("created_at").values_list("pk", "model")
        return [
            (pk, model)
            for pk, model in rows
            if self.filter(unsent, pk=pk).update(dispatched_at=Now())
        ]

    def undispatch(self, batch_ids: list[UUID]) -> None:
        """Forget that messages of waiting batches were sent: they were not, or came too soon."""
        self.filter(pk__in=batch_ids, state=QUEUED).update(dispatched_at=None)
