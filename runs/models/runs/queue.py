"""The queue of record: claims, heartbeats, endings, all as single conditional updates.

Every verb is one UPDATE whose condition is the state it needs, so that of two callers exactly
one wins on SQLite and PostgreSQL alike. Leases are measured by the database's clock alone.
A worker's verbs carry the fencing token of its claim and change nothing once it is stale.
Beside the queue: its workers' signs of life.
"""

from datetime import timedelta
from typing import Any, Self
from uuid import UUID

from django.db import models, transaction
from django.db.models import DateTimeField, Exists, ExpressionWrapper, F, OuterRef, Q, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from runs.models.experiments import Experiment, ExperimentState
from runs.models.runs.turns import DueQuerySet, First, RunRow, RunStatus, firsts_in_turn

TRIES = 50
"""Give up after another worker was quicker so many times; each time a run was started."""


class WorkerBeat(models.Model):
    """One worker, the queues it serves, and when it last said that it is well."""

    name = models.CharField(max_length=200, primary_key=True)
    queues = models.JSONField(default=list)
    slots = models.PositiveSmallIntegerField(default=1)
    """How many tasks it does at a time."""
    busy = models.PositiveSmallIntegerField(default=0, db_default=0)
    """How many it did then."""
    room_since = models.DateTimeField(null=True)
    """Since when it could have done another one; None where that is not known, or it could not."""
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


def from_now(seconds: float) -> Combinable:
    """The database's time in so many seconds (negative: ago)."""
    return ExpressionWrapper(
        Now() + Value(timedelta(seconds=seconds)), output_field=DateTimeField()
    )


class QueueQuerySet(DueQuerySet[RunRow]):
    """The verbs of the queue of runs."""

    def due_somewhere(self, most: int) -> int:
        """How many runs could start now if there were workers enough, counted up to `most`."""
        lanes = [first.lane for first in firsts_in_turn(self, timezone.now())]
        return self.due().order_by().filter(lane__in=lanes)[:most].count() if lanes else 0

    def held(self, run_id: UUID, token: int) -> Self:
        """The run, if the claim with this token still owns it."""
        return self.filter(pk=run_id, lease_token=token, status__in=RunStatus.held())

    def expired(self) -> Self:
        """Runs whose worker let the lease run out."""
        return self.filter(status__in=RunStatus.held(), lease_expires_at__lt=Now())

    def claim(self, run_id: UUID, *, owner: str, lease_s: float) -> RunRow | None:
        """Lease one due run to `owner`; None if it cannot be had.

        Runs of a paused, cancelled or waiting experiment cannot. The returned row
        carries the fencing token in `lease_token`. `owner` must be a name that no other claim
        uses.
        """
        moving = Experiment.objects.filter(state=ExperimentState.RUNNING)
        won = (
            self.due()
            .order_by()
            .filter(Q(experiment=None) | Q(experiment__in=moving.values("pk")), pk=run_id)
            .update(
                status=RunStatus.LEASED,
                lease_owner=owner,
                lease_token=F("lease_token") + 1,
                lease_expires_at=from_now(lease_s),
                heartbeat_at=Now(),
                claimed_at=Now(),
            )
        )
        return (
            self.filter(pk=run_id, lease_owner=owner, status=RunStatus.LEASED).first()
            if won
            else None
        )

    def claim_next(self, *, owner: str, lease_s: float) -> RunRow | None:
        """Lease the run whose turn it is to `owner`; None if none is due. See `turns`."""
        for _ in range(TRIES):
            firsts = firsts_in_turn(self, timezone.now())
            if not firsts:
                return None
            if run := self._claim_first(firsts[0], owner=owner, lease_s=lease_s):
                return run
        return None

    def _claim_first(self, first: First, *, owner: str, lease_s: float) -> RunRow | None:
        """Claim it, unless its experiment has reached its limit of running runs meanwhile."""
        with transaction.atomic(using=self.db):
            experiments: Any = self.model._meta.get_field("experiment").related_model
            # Locked, so that of two claims of the same experiment the second counts the first.
            bounded = experiments._default_manager.select_for_update().filter(
                pk=first.experiment, parallelism__isnull=False
            )
            for experiment in bounded:
                held = self.held_here().filter(experiment=experiment)
                if held.count() >= experiment.parallelism:
                    return None
            return self.claim(first.run_id, owner=owner, lease_s=lease_s)

    def start(self, run_id: UUID, token: int) -> bool:
        """leased -> running; False if the lease is no longer ours."""
        leased = self.held(run_id, token).filter(status=RunStatus.LEASED)
        return bool(leased.update(status=RunStatus.RUNNING, started_at=Now()))

    def beat(self, run_id: UUID, token: int, *, lease_s: float, **changes: Any) -> bool:
        """Renew the lease, and write `changes` with it; False if it is no longer ours.

        Inside a transaction this is the fence: it holds the row, so that whatever is written
        next lands before anyone can take the run away, or not at all.
        """
        renewed = {"heartbeat_at": Now(), "lease_expires_at": from_now(lease_s)}
        return bool(self.held(run_id, token).update(**renewed, **changes))

    def end(self, run_id: UUID, token: int, *, status: str, **changes: Any) -> bool:
        """End a run that we hold; False if it is no longer ours."""
        ended = {"status": status, "ended_at": Now(), "lease_expires_at": None}
        return bool(self.held(run_id, token).update(**ended | changes))

    def put_off(self, run_id: UUID, token: int, *, delay_s: float) -> bool:
        """Put back what we leased but cannot start yet; False if it is no longer ours.

        No attempt is spent: the run waits, and `waits_since` keeps when that began.
        """
        leased = self.held(run_id, token).filter(status=RunStatus.LEASED)
        return bool(
            leased.update(
                status=RunStatus.QUEUED,
                lease_owner="",
                lease_expires_at=None,
                not_before=from_now(delay_s),
                waits_since=Coalesce("waits_since", Now()),
            )
        )

    def _untouched(self) -> Self:
        """Of these the runs that nobody is writing to at this moment, locked; in a transaction.

        A worker that froze in the middle of a write holds up its own run only, not what comes
        after it.
        """
        free = self.order_by().select_for_update(skip_locked=True)
        return self.filter(pk__in=list(free.values_list("pk", flat=True)))

    def end_expired(self, run_id: UUID, token: int, **changes: Any) -> bool:
        """End a run whose lease ran out; False if its worker has renewed it meanwhile, or may."""
        with transaction.atomic(using=self.db):
            expired = self.expired().filter(pk=run_id)._untouched()
            return expired.end(run_id, token, **changes)

    def requeue_expired(self) -> int:
        """Put back what was leased but never started; returns how many."""
        with transaction.atomic(using=self.db):
            leased = self.expired().filter(status=RunStatus.LEASED)._untouched()
            return leased.update(status=RunStatus.QUEUED, lease_owner="", lease_expires_at=None)

    def request_cancel(self, run_id: UUID) -> bool:
        """Ask that a run stops: a waiting one never starts now; False if it has ended already."""
        active = self.filter(pk=run_id, status__in=RunStatus.active())
        return bool(active.update(cancel_requested_at=Now()))

    def call_off(self) -> int:
        """Ask that all runs of cancelled experiments stop; returns of how many that is new."""
        cancelled = Experiment.objects.filter(
            pk=OuterRef("experiment"), state=ExperimentState.CANCELLED
        )
        active = self.filter(status__in=RunStatus.active(), cancel_requested_at=None)
        return active.filter(Exists(cancelled)).update(cancel_requested_at=Now())

    def launched_by_hand(self, user_id: int) -> Self:
        """Runs outside of experiments that the person launched and nobody has asked to stop."""
        active = self.filter(status__in=RunStatus.active(), cancel_requested_at=None)
        return active.filter(created_by=user_id, experiment=None)

    def end_cancelled(self, most: int = 500) -> list[UUID]:
        """End waiting runs that were asked to stop, so many at a time; returns their ids."""
        with transaction.atomic(using=self.db):
            asked = self.filter(
                status=RunStatus.QUEUED, cancel_requested_at__isnull=False
            ).order_by()
            free = asked.select_for_update(skip_locked=True)
            ids = list(free.values_list("pk", flat=True)[:most])
            ended = {"outcome": "incomplete", "end_reason": "cancelled", "ended_at": Now()}
            self.filter(pk__in=ids, status=RunStatus.QUEUED).update(
                status=RunStatus.CANCELLED, **ended
            )
        return ids
