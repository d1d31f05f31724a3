"""Playwright's driver, started before anybody waits for it.

Every run has a driver to itself, and one takes about half a second to start. A process that
carries out one run after the other has the next one's started while it has nothing to do.
"""

from __future__ import annotations

import logging
import threading

from webagent.environment.browsergym_browsers import driver_answers, start_driver
from webagent.environment.own_thread import OwnThread, StillRunning

logger = logging.getLogger(__name__)

ANSWER_TIMEOUT_S = 15.0


class SpareDriver:
    """At most one thread with a driver that no run has had yet. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: OwnThread | None = None

    def prepare(self) -> None:
        """Have one started in the background, unless there is one."""
        with self._lock:
            if self._thread is None:
                self._thread = OwnThread("browser")
                self._thread.begin(start_driver)

    def take(self) -> OwnThread:
        """A thread for one run: that of the spare driver if it answers, else a new one."""
        with self._lock:
            spare, self._thread = self._thread, None
        if spare is None:
            return OwnThread("browser")
        try:
            if spare.call(driver_answers, ANSWER_TIMEOUT_S):
                return spare
        except StillRunning:
            logger.warning("A driver that was started beforehand hangs; the run gets another.")
        spare.stop(0)
        return OwnThread("browser")


spare_driver = SpareDriver()
"""That of this process."""
