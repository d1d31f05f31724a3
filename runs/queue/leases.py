"""Claims of runs and of leased work: kept while a worker works, and the writes that they allow."""

import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from django.conf import settings
from django.db import DatabaseError, connection
from django.utils.translation import gettext_noop

from runs.models import LeasedWork, Run
from runs.models.leased_work import WorkState
from webagent.process.counters import leases_expired
from webagent.process.logs import logged_with

logger = logging.getLogger(__name__)


class LeaseLostError(Exception):
    """The run was taken away: another worker has it, or it has ended. Stop, and write nothing."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write to a run, until its token is stale.

    Its writes raise LeaseLostError where it is, and have written nothing then.
    """

    run_id: UUID
    token: int

    def start(self) -> None:
        """leased -> running."""
        self._demand(Run.objects.start(self.run_id, self.token))

    def put_off(self, delay_s: float) -> None:
        """leased -> queued, not to be claimed before so many seconds."""
        self._demand(Run.objects.put_off(self.run_id, self.token, delay_s=delay_s))

    def renew(self, **changes: Any) -> bool:
        """Keep the run, writing `changes` to it; whether somebody asked to cancel it."""
        kept = Run.objects.beat(self.run_id, self.token, lease_s=settings.ENV.LEASE_S, **changes)
        self._demand(kept)
        return self.is_to_cancel()

    def is_to_cancel(self) -> bool:
        """Whether somebody asked to cancel the run."""
        return Run.objects.filter(pk=self.run_id, cancel_requested_at__isnull=False).exists()

    def end(self, status: str, **changes: Any) -> None:
        self._demand(Run.objects.end(self.run_id, self.token, status=status, **changes))

    def _demand(self, held: bool) -> None:
        if not held:
            raise LeaseLostError(f"run {self.run_id} is no longer held with token {self.token}")


def claim(run_id: UUID) -> tuple[Run, Lease] | None:
    """The run and the right to it; None if it is not there to be had."""
    return _with_lease(Run.objects.claim(run_id, owner=_new_owner(), lease_s=settings.ENV.LEASE_S))


def claim_next() -> tuple[Run, Lease] | None:
    """The run whose turn it is and the right to it; None if none is due."""
    return _with_lease(Run.objects.claim_next(owner=_new_owner(), lease_s=settings.ENV.LEASE_S))


def _new_owner() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def _with_lease(run: Run | None) -> tuple[Run, Lease] | None:
    return (run, Lease(run.pk, run.lease_token)) if run else None


class LeaseRenewer:
    """Calls `renew` again and again from a thread of its own, with a connection of its own.

    Ends with the block around it, when `renew` raises `lost` (then `is_lost` is set and `on_lost`
    called), or `limit_s` seconds after the start, so that a hung worker keeps nothing for ever.
    """

    def __init__(
        self,
        renew: Callable[[], object],
        *,
        lost: type[Exception],
        on_lost: Callable[[], object] | None = None,
        limit_s: float = float("inf"),
    ) -> None:
        self.is_lost = False
        self._renew = renew
        self._lost = lost
        self._on_lost = on_lost
        self._limit_s = limit_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="lease renewer", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _beat(self) -> None:
        # A few beats fit into a lease, so that one that is late costs nothing.
        interval = min(settings.ENV.HEARTBEAT_S, settings.ENV.LEASE_S / 3)
        last = time.monotonic() + self._limit_s
        try:
            while not self._ended.wait(interval) and time.monotonic() < last:
                self._beat_once()
        except self._lost:
            self.is_lost = True
            if self._on_lost:
                self._on_lost()
        finally:
            connection.close()

    def _beat_once(self) -> None:
        try:
            self._renew()
        except DatabaseError:
            # The database may be back before the lease runs out.
            logger.warning("A heartbeat failed.", exc_info=True)
            connection.close()


DIED = gettext_noop(
    "The worker died again and again in this work; nothing more will be tried by itself."
)


class WorkLostError(Exception):
    """The lease ran out and another worker has the work now. Stop, and write nothing."""


class WorkLease:
    """The right to write to claimed work, until its token is stale.

    Its writes raise WorkLostError where it is, and have written nothing then.
    """

    def __init__(self, work: LeasedWork) -> None:
        self._work = work
        self._rows = type(work).objects

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the work while the block lasts. A block that lost it ends there, with a warning."""
        kind = self._work._meta.model_name
        known = logged_with(work=kind, work_id=str(self._work.pk))
        try:
            with known, LeaseRenewer(self.renew, lost=WorkLostError):
                yield
        except WorkLostError:
            leases_expired.labels(kind).inc()
            name = self._work._meta.verbose_name
            logger.warning("The %s %s was taken over by another worker.", name, self._work.pk)

    def renew(self, **changes: Any) -> None:
        """Keep the work, writing `changes` to it."""
        lease_s = settings.ENV.LEASE_S
        self._demand(self._rows.renew(*self._claim, lease_s=lease_s, **changes))

    def end(self, state: WorkState, **changes: Any) -> None:
        self._demand(self._rows.end(*self._claim, state=state, **changes))

    def hand_back(self) -> None:
        self._demand(self._rows.hand_back(*self._claim))

    def lay_down(self, *, problem: str) -> None:
        """Leave the work as a worker does that dies, saying why: it is tried again so many times.

        The next claim comes when the lease has run out.
        """
        self.renew(problem=problem)

    def is_to_cancel(self) -> bool:
        return self._rows.filter(pk=self._work.pk, cancel_requested_at__isnull=False).exists()

    @property
    def _claim(self) -> tuple[UUID, int]:
        return self._work.pk, self._work.lease_token

    def _demand(self, held: bool) -> None:
        if not held:
            raise WorkLostError


def sweep_work(kind: type[LeasedWork]) -> None:
    """End what was to be cancelled or cannot be done, where no worker is left to do so."""
    kind.objects.cancel_abandoned()
    kind.objects.give_up(max_barren=settings.ENV.MAX_ATTEMPTS, problem=DIED)
