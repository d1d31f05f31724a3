"""Whether this process can do its work now, found out within a bound of time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from django.db import connection

from runs.operations.health import checks
from runs.operations.health.checks import OK, Check

logger = logging.getLogger(__name__)

LIMIT_S = 4.0
KEPT_S = 2.0
"""So long an answer stands: strangers may ask, and each look writes a file."""

NEEDED: Mapping[str, Check] = {
    "database": checks.check_database,
    "migrations": checks.check_migrations,
    "storage": checks.check_storage,
}
"""Without one of these no page can be served."""
PROMISED: Mapping[str, Check] = {"work": checks.check_work}
"""Pages are served, but what people queued is not carried out, and nothing mends that by itself."""
MISSED: Mapping[str, Check] = {
    "broker": checks.check_broker,
    "eviction": checks.check_eviction,
    "workers": checks.check_workers,
}
"""Without these people still read and judge, but work in the background waits."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """What each check said."""

    found: Mapping[str, str]

    @property
    def is_ready(self) -> bool:
        return all(self.found[name] == OK for name in (*NEEDED, *PROMISED))

    @property
    def status(self) -> str:
        """ "ok", "degraded" where work in the background may have to wait, or "failing"."""
        if not self.is_ready:
            return "failing"
        return OK if all(word == OK for word in self.found.values()) else "degraded"


class Examiner:
    """Runs all checks at once, and does not wait for one that hangs, now or the next time."""

    def __init__(self, all_checks: Mapping[str, Check], limit_s: float, kept_s: float) -> None:
        self._checks = all_checks
        self._limit_s = limit_s
        self._kept_s = kept_s
        self._threads = ThreadPoolExecutor(len(all_checks), thread_name_prefix="readiness")
        self._hanging: dict[str, Future[str]] = {}
        self._lock = threading.Lock()
        self._last: tuple[float, Readiness] | None = None

    def look(self) -> Readiness:
        """What the checks say, or said a moment ago."""
        with self._lock:
            if self._last and time.monotonic() - self._last[0] < self._kept_s:
                return self._last[1]
            found = Readiness(self._ask_all())
            self._last = (time.monotonic(), found)
            return found

    def _ask_all(self) -> dict[str, str]:
        asked = {
            name: self._hanging.get(name) or self._threads.submit(_on_own_connection, check)
            for name, check in self._checks.items()
        }
        wait(asked.values(), timeout=self._limit_s)
        self._hanging = {name: answer for name, answer in asked.items() if not answer.done()}
        return {
            name: f"gives no answer within {self._limit_s:g} s"
            if name in self._hanging
            else answer.result()
            for name, answer in asked.items()
        }


def _on_own_connection(check: Check) -> str:
    try:
        return check()
    except Exception:  # a look that breaks must not take the page with it
        logger.exception("A check broke.")
        return "cannot be told"
    finally:
        connection.close()


examiner = Examiner({**NEEDED, **PROMISED, **MISSED}, LIMIT_S, KEPT_S)
