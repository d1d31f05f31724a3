"""What a worker's process does beside its tasks: it says that it is well, and ends if it is not.

A process that stands still is of no use, and its supervisor starts another one at once: so it is
ended where a task outlasts its limit, where work waits for it though it has nothing to do, and
where nobody is left to end it. Whatever it had under way goes on elsewhere, like that of any
worker that dies. Its log lines, and those of tasks that it asks for, carry the id of the request.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from celery.signals import (
    before_task_publish,
    task_postrun,
    task_prerun,
    worker_init,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from runs.models import WorkerBeat
from runs.operations.health.checks import (
    GRACE_S,
    OK,
    check_broker,
    longest_wait_s,
    neglected,
    warn_of_eviction,
)
from runs.operations.processes.supervisor import STOP_LIMIT_S, Alive
from runs.queue.workers import BROWSER, beat, mark_as_worker, stop_soon
from webagent.environment.browser import end_leftovers, mark_browsers
from webagent.process.children import forget_foreign_loop
from webagent.process.logs import facts_now, logged_with

logger = logging.getLogger(__name__)


class UnderWay:
    """The tasks that a process has under way. Threads may share it."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._lock = threading.Lock()
        self._tasks: dict[str, tuple[str, float]] = {}
        self._room_since: float | None = time.monotonic()

    def begin(self, task_id: str, name: str, limit_s: float | None) -> None:
        """A task begins, and is to end within so many seconds."""
        with self._lock:
            until = float("inf") if limit_s is None else time.monotonic() + limit_s
            self._tasks[task_id] = (name, until)
            if len(self._tasks) >= self.slots:
                self._room_since = None

    def end(self, task_id: str) -> None:
        """The task has ended."""
        with self._lock:
            self._tasks.pop(task_id, None)
            if len(self._tasks) < self.slots and self._room_since is None:
                self._room_since = time.monotonic()

    @contextmanager
    def one(self, name: str, limit_s: float) -> Iterator[None]:
        """The block is a task of this name."""
        self.begin(name, name, limit_s)
        try:
            yield
        finally:
            self.end(name)

    @property
    def busy(self) -> int:
        return len(self._tasks)

    @property
    def room_for_s(self) -> float | None:
        """For how long there has been room for another task; None where there is none."""
        since = self._room_since
        return None if since is None else time.monotonic() - since

    @property
    def overdue(self) -> list[str]:
        """Names of tasks that should have ended."""
        with self._lock:
            return [name for name, until in self._tasks.values() if time.monotonic() > until]


class SignsOfLife(threading.Thread):
    """Says every few seconds that this process is well, and ends it where it stands still.

    Args:
        alive: tells the supervisor the same.
    """

    def __init__(
        self, worker: str, queues: list[str], under_way: UnderWay, alive: Alive = lambda: None
    ) -> None:
        super().__init__(name="signs-of-life", daemon=True)
        self._worker = worker
        self._queues = queues
        self._under_way = under_way
        self._alive = alive
        self._parent = os.getppid()
        self._orphaned_at: float | None = None
        self._looked_at = time.monotonic()
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.is_set():
            self._alive()
            self._beat()
            self._alive()
            if BROWSER in self._queues:
                end_leftovers()
            if why := self._why_end():
                logger.critical("This process stands still and ends itself: %s.", why)
                os.kill(os.getpid(), signal.SIGKILL)
            self._stopped.wait(settings.ENV.HEARTBEAT_S)

    def stop(self) -> None:
        """Stop, and say that the worker is gone."""
        self._stopped.set()
        self.join()
        try:
            WorkerBeat.objects.filter(pk=self._worker).delete()
        except DatabaseError:
            logger.warning("The worker could not say that it is gone.")
        finally:
            connection.close()

    def _beat(self) -> None:
        now = self._under_way
        try:
            beat(self._worker, self._queues, now.slots, busy=now.busy, room_for_s=now.room_for_s)
        except DatabaseError:
            logger.warning("The worker could not give its sign of life.", exc_info=True)
        finally:
            connection.close()

    def _why_end(self) -> str:
        """Why the process is no use any more; "" while it is."""
        if overdue := self._under_way.overdue:
            return f"{', '.join(overdue)} outlasted its limit"
        if self._is_orphaned():
            return "its supervisor is gone"
        return self._why_idle()

    def _is_orphaned(self) -> bool:
        """Whether it should have ended long since, as its supervisor did."""
        if os.getppid() == self._parent:
            return False
        if self._orphaned_at is None:
            self._orphaned_at = time.monotonic()
        return time.monotonic() - self._orphaned_at > STOP_LIMIT_S

    def _why_idle(self) -> str:
        """What waits for it, if it has had nothing to do all the while."""
        room_s, patience = self._under_way.room_for_s, longest_wait_s()
        now = time.monotonic()
        if room_s is None or room_s < patience or now - self._looked_at < GRACE_S:
            return ""
        self._looked_at = now
        try:
            waiting = sorted(neglected().intersection(self._queues))
            # Another process would hear as little from a broker that is away.
            is_heard = bool(waiting) and check_broker() == OK
            return f"work waits for {', '.join(waiting)}" if is_heard else ""
        except DatabaseError:
            return ""
        finally:
            connection.close()


_alive: Alive = lambda: None  # noqa: E731 (a default)
_under_way: UnderWay | None = None
_signs: SignsOfLife | None = None


def tell(alive: Alive) -> None:
    """From now on the worker of this process says to its supervisor, too, that it is well."""
    global _alive
    _alive = alive


def hold_rows_no_longer_than_a_lease(connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Have PostgreSQL end a transaction of ours in which nothing has been asked for a lease.

    Whoever freezes in the middle of a write keeps the row of its run, which the sweep could then
    neither end nor queue anew. One that wakes up finds its connection gone, and its lease too.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # A worker holds nothing by right for longer.
            idle = f"{settings.ENV.LEASE_S}s"
            cursor.execute("SET idle_in_transaction_session_timeout = %s", [idle])


REQUEST_ID = "request_id"
_logged: dict[str, AbstractContextManager[None]] = {}
"""What the log lines of a task carry, while it is under way."""


@before_task_publish.connect
def _send_request_along(headers: dict[str, Any] | None = None, **_: Any) -> None:
    request_id = facts_now().get(REQUEST_ID)
    if headers is not None and request_id:
        headers[REQUEST_ID] = request_id


@worker_init.connect
def _prepare(**_: Any) -> None:
    connection_created.connect(hold_rows_no_longer_than_a_lease)


@worker_ready.connect
def _start(sender: Any, **_: Any) -> None:
    """The worker begins to take messages."""
    warn_of_eviction()
    global _signs, _under_way
    queues = sorted(sender.app.amqp.queues.consume_from)
    if BROWSER in queues:
        mark_browsers()
    _under_way = UnderWay(sender.pool.num_processes)
    _signs = SignsOfLife(sender.hostname, queues, _under_way, _alive)
    _signs.start()
    mark_as_worker()


@task_prerun.connect
def _begin(task_id: str, task: Any, **_: Any) -> None:
    known = logged_with(task_id=task_id, task=task.name, request_id=task.request.get(REQUEST_ID))
    known.__enter__()
    _logged[task_id] = known
    # What an earlier task left behind must not keep this one from the database.
    forget_foreign_loop()
    if _under_way is not None:
        _under_way.begin(task_id, task.name, task.time_limit)


@task_postrun.connect
def _end(task_id: str, **_: Any) -> None:
    """After Celery's own line about a failure."""
    if known := _logged.pop(task_id, None):
        known.__exit__(None, None, None)
    if _under_way is not None:
        _under_way.end(task_id)


@worker_shutting_down.connect
def _hand_back(**_: Any) -> None:
    """Runs under way notice at their next step, end, and are queued anew."""
    stop_soon()


@worker_shutdown.connect
def _stop(**_: Any) -> None:
    if _signs is not None:
        _signs.stop()
