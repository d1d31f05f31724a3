"""Keeping a run while it is carried out, and hearing why it should stop."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from django.conf import settings

from runs.queue.lease_renewer import LeaseRenewer
from runs.queue.leases import Lease, LeaseLostError
from runs.queue.steps import patiently
from runs.queue.workers import is_stopping
from webagent.environment.leftovers import end_own_browsers

GRACE_S = 180
"""How long a run may outlast its time limit (a last step, evidence, closing the browser)."""


class Heartbeat:
    """Renews the lease of a run, and hears of its cancellation.

    Once the lease is lost, the browser is killed: whatever the run waits for ends at once.
    """

    def __init__(self, lease: Lease) -> None:
        self.is_cancelled = False
        self._lease = lease
        self._renewer = LeaseRenewer(
            self._renew,
            lost=LeaseLostError,
            on_lost=end_own_browsers,
            limit_s=settings.ENV.RUN_TIME_LIMIT_S + GRACE_S,
        )

    def __enter__(self) -> Self:
        self._renewer.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._renewer.__exit__(kind, error, traceback)

    @property
    def is_lost(self) -> bool:
        return self._renewer.is_lost

    def should_stop(self) -> bool:
        """Whether the run is to end now, because somebody or the worker's end asks for it.

        Raises:
            LeaseLostError: the run is no longer ours.
        """
        if self.is_lost:
            raise LeaseLostError(f"run {self._lease.run_id} was taken away")
        self.is_cancelled = self.is_cancelled or patiently(self._lease.is_to_cancel)
        return self.is_cancelled or is_stopping()

    def _renew(self) -> None:
        self.is_cancelled = self._lease.renew() or self.is_cancelled
