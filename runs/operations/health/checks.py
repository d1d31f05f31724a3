"""Checks of what the site needs, and of this process's readiness, in bounded time.

Each check says "ok" or, in a few words, what is wrong. Work that waits though it could be carried
out is told apart from a backlog, which is no fault: all workers are busy, and the next one that is
free takes the next piece. It is one that work has waited for longer than a lease and half a minute
while a worker of its queue had room, or while there was none.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models.functions import Coalesce, Greatest
from django.utils import timezone

from runs.models import Run
from runs.models.runs.queue import from_now
from runs.models.runs.turns import firsts_in_turn
from runs.queue.jobs import kinds_of_work
from runs.queue.workers import BROWSER, SWEEP, queues_without_room, unserved_queues
from runs.storage.file_storage import UNFINISHED

logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from redis import Redis


GRACE_S = 30


def longest_wait_s() -> float:
    """How long work may wait for a worker that has room."""
    return settings.ENV.LEASE_S + GRACE_S


def neglected() -> set[str]:
    """Queues with work that waits though it could be carried out; and the sweep, where it does."""
    waiting = set(_overdue())
    # The sweep is never too busy for it.
    return waiting - (queues_without_room(longest_wait_s()) - {SWEEP}) if waiting else waiting


def _overdue() -> Iterable[str]:
    """The queues of work that has been claimable for too long, some more than once."""
    long_ago = from_now(-longest_wait_s())
    if Run.objects.filter(lease_expires_at__lt=long_ago).expired().exists():
        yield SWEEP  # which alone takes a run from a worker that is gone
    firsts = [first.run_id for first in firsts_in_turn(Run.objects.all(), timezone.now())]
    queued = Coalesce("queued_at", "created_at")
    due = Run.objects.filter(pk__in=firsts).annotate(
        claimable_since=Greatest(queued, Coalesce("not_before", queued))
    )
    if due.filter(claimable_since__lt=long_ago).exists():
        yield BROWSER
    for kind in kinds_of_work():
        yield from kind.objects.claimable(longer_than_s=longest_wait_s()).queues()


OK = "ok"
BROKER_WAIT_S = 2.0
KEEPS_ALL = "noeviction"
BEHIND = "migrations are not applied"
UNKNOWN = "unknown without a database"
Check = Callable[[], str]


def check_database() -> str:
    """Whether the database answers."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        logger.exception("The database does not answer.")
        return "does not answer"
    return OK


def check_migrations() -> str:
    """Whether the schema is as new as this code; one that is newer is well, too."""
    try:
        _is_migrated()
    except DatabaseError:
        return UNKNOWN
    except _BehindError as behind:
        return str(behind)
    return OK


class _BehindError(Exception):
    """The schema is older than the code."""


@cache
def _is_migrated() -> bool:
    """Asked until it is: this code needs nothing then that it had not got before."""
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        raise _BehindError(f"{len(missing)} {BEHIND}")
    return True


def check_storage() -> str:
    """Whether the blob store works: a file is written, read and deleted."""
    content = os.urandom(32)
    # Named as an unfinished file, so that one left by a crash is cleaned up as such.
    name = f"probe/{content.hex()[:16]}{UNFINISHED}"
    try:
        name = default_storage.save(name, ContentFile(content))
        with default_storage.open(name) as file:
            same = file.read() == content
        default_storage.delete(name)
    except Exception:  # every storage has exceptions of its own
        logger.exception("The blob store cannot be used.")
        return "cannot be written or read"
    return OK if same else "gives back other bytes than it was given"


def check_workers() -> str:
    """Whether every queue has a worker that lives."""
    return _none_of(unserved_queues, "no worker gives a sign of life for")


def check_work() -> str:
    """Whether everything that is queued is carried out, or at least waits for busy workers."""
    return _none_of(neglected, "nobody takes the work that waits for")


def _none_of(find: Callable[[], set[str]], wrong: str) -> str:
    """Well if there are no such queues; else what is wrong with those that there are."""
    try:
        queues = find()
    except DatabaseError:
        return UNKNOWN
    return f"{wrong}: {', '.join(sorted(queues))}" if queues else OK


def check_broker() -> str:
    """Whether messages can be sent."""
    if not settings.ENV.REDIS_URL:
        return OK if os.access(settings.QUEUE_DIR / "messages", os.W_OK) else "cannot be written"
    try:
        with broker() as server:
            server.ping()
    except OSError:
        logger.warning("The broker does not answer.", exc_info=True)
        return "does not answer"
    return OK


def check_eviction() -> str:
    """Whether the broker keeps every message, however full it is.

    Runs would not be lost with their messages, since the sweep sends them anew; they would wait.
    """
    if not settings.ENV.REDIS_URL:
        return OK
    try:
        with broker() as server:
            policy = server.info("memory").get("maxmemory_policy", KEEPS_ALL)
    except OSError:
        return "unknown without a broker"
    return OK if policy == KEEPS_ALL else f"maxmemory-policy is {policy}, not {KEEPS_ALL}"


@contextmanager
def broker() -> Iterator[Redis]:
    """The Redis that carries messages, asked with short timeouts.

    Raises:
        OSError: it does not answer, or refuses us.
    """
    # Imported here: it takes 38 MB and half a second, and few processes need it.
    from redis import Redis, RedisError

    try:
        with Redis.from_url(
            str(settings.ENV.REDIS_URL),
            socket_timeout=BROKER_WAIT_S,
            socket_connect_timeout=BROKER_WAIT_S,
        ) as server:
            yield server
    except RedisError as error:
        raise OSError(f"Redis: {error}") from error


def warn_of_eviction() -> None:
    """Warn at the start of a program that messages may get lost."""
    found = check_eviction()
    if "maxmemory" in found:
        logger.error("Redis may throw messages away: %s. Runs then wait for the sweep.", found)


LIMIT_S = 4.0
KEPT_S = 2.0
"""How long an answer is reused: anybody may ask, and each check writes a file."""
NEEDED: Mapping[str, Check] = {
    "database": check_database,
    "migrations": check_migrations,
    "storage": check_storage,
}
"""Without one of these no page can be served."""
PROMISED: Mapping[str, Check] = {"work": check_work}
"""Pages are served, but what people queued is not carried out, and nothing mends that by itself."""
MISSED: Mapping[str, Check] = {
    "broker": check_broker,
    "eviction": check_eviction,
    "workers": check_workers,
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
