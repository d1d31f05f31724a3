"""Keeping what a worker has claimed for as long as it works on it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from django.conf import settings
from django.db import DatabaseError, connection

logger = logging.getLogger(__name__)


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
        self._thread = threading.Thread(target=self._beat, name="pulse", daemon=True)

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
