"""One claim of one piece of leased work, and the writes that it allows."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.conf import settings

from runs.models import LeasedWork
from runs.queue.lease_renewer import LeaseRenewer
from runs.telemetry.counters import leases_expired
from webagent.logs.context import logged_with

logger = logging.getLogger(__name__)

DIED = "The worker died again and again in this work; nothing more will be tried by itself."


class WorkLostError(Exception):
    """The lease ran out and another worker has the work now. Stop, and write nothing."""


class Hold:
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

    def end(self, state: LeasedWork.State, **changes: Any) -> None:
        """End the work."""
        self._demand(self._rows.end(*self._claim, state=state, **changes))

    def hand_back(self) -> None:
        """Put the work back for the next worker."""
        self._demand(self._rows.hand_back(*self._claim))

    def lay_down(self, *, problem: str) -> None:
        """Leave the work as a worker does that dies, saying why: it is tried again so many times.

        The next claim comes when the lease has run out.
        """
        self.renew(problem=problem)

    def is_to_cancel(self) -> bool:
        """Whether somebody asked to cancel the work."""
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
