"""One claim of one run, and the writes that it allows."""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings

from runs.models import Run


class LeaseLostError(Exception):
    """The run was taken away: another worker has it, or it has ended. Stop, and write nothing."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write to a run, until its token is stale."""

    run_id: UUID
    token: int

    def start(self) -> None:
        """leased -> running.

        Raises:
            LeaseLostError: the run is no longer ours.
        """
        self._demand(Run.objects.start(self.run_id, self.token))

    def put_off(self, delay_s: float) -> None:
        """leased -> queued, not to be claimed before so many seconds.

        Raises:
            LeaseLostError: the run is no longer ours.
        """
        self._demand(Run.objects.put_off(self.run_id, self.token, delay_s=delay_s))

    def renew(self, **changes: Any) -> bool:
        """Keep the run, writing `changes` to it; whether somebody asked to cancel it.

        Raises:
            LeaseLostError: the run is no longer ours; nothing was written.
        """
        kept = Run.objects.beat(self.run_id, self.token, lease_s=settings.ENV.LEASE_S, **changes)
        self._demand(kept)
        return self.is_to_cancel()

    def is_to_cancel(self) -> bool:
        """Whether somebody asked to cancel the run."""
        return Run.objects.filter(pk=self.run_id, cancel_requested_at__isnull=False).exists()

    def end(self, status: str, **changes: Any) -> None:
        """End the run.

        Raises:
            LeaseLostError: the run is no longer ours; nothing was written.
        """
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
