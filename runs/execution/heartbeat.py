"""Keeping a run while it is carried out, and hearing why it should stop."""

from __future__ import annotations

import logging
import threading
import time
from types import TracebackType
from typing import Self

from django.conf import settings
from django.db import DatabaseError, connection

from runs.execution.leases import Lease, LeaseLostError
from runs.execution.steps import patiently
from runs.workers import is_stopping
from webagent.environment.leftovers import end_own_browsers

logger = logging.getLogger(__name__)

GRACE_S = 180
"""How long a run may outlast its time limit (a last step, evidence, closing the browser)."""


class Heartbeat:
    """Renews the lease from a thread of its own, with a connection of its own.

    `is_cancelled` and `is_lost` say what it heard. Once the lease is lost, the browser is
    killed: whatever the run waits for ends at once. A run that outlasts its limit and the
    grace is not renewed any more, so that a hung worker does not keep it for ever.
    """

    def __init__(self, lease: Lease) -> None:
        self.is_cancelled = False
        self.is_lost = False
        self._lease = lease
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def should_stop(self) -> bool:
        """Whether the run is to end now, because somebody or the worker's end asks for it.

        Raises:
            LeaseLostError: the run is no longer ours.
        """
        if self.is_lost:
            raise LeaseLostError(f"run {self._lease.run_id} was taken away")
        self.is_cancelled = self.is_cancelled or patiently(self._lease.is_to_cancel)
        return self.is_cancelled or is_stopping()

    def _beat(self) -> None:
        # A few beats fit into a lease, so that one that is late costs nothing.
        interval = min(settings.ENV.HEARTBEAT_S, settings.ENV.LEASE_S / 3)
        last_limit = time.monotonic() + settings.ENV.RUN_TIME_LIMIT_S + GRACE_S
        try:
            while not self._ended.wait(interval) and time.monotonic() < last_limit:
                self._renew()
        except LeaseLostError:
            self.is_lost = True
            end_own_browsers()
        finally:
            connection.close()

    def _renew(self) -> None:
        try:
            self.is_cancelled = self._lease.renew() or self.is_cancelled
        except DatabaseError:
            # The database may be back before the lease runs out.
            logger.warning("A heartbeat of run %s failed.", self._lease.run_id, exc_info=True)
            connection.close()
