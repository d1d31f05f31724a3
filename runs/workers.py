"""Signs of life of Celery workers, kept in the database, and the news that one is to stop.

`inspect ping` needs a broker that carries answers, which the file-system one does not.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
from multiprocessing.synchronize import Event
from typing import Any

from celery.signals import (
    celeryd_after_setup,
    task_prerun,
    worker_init,
    worker_process_init,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.models import QuerySet
from django.db.models.functions import Now

from runs.models import Run, WorkerBeat
from runs.querysets.clock import from_now
from webagent.environment.leftovers import end_leftovers, mark_browsers
from webagent.environment.own_thread import forget_foreign_loop
from webagent.environment.registry import load_suites, prepare_browser

logger = logging.getLogger(__name__)

FORGOTTEN_AFTER_S = 24 * 3600
BROWSER = "browser"
"""The queue of what needs a browser."""

_using_database = threading.Lock()
# The pool replaces a dead child by forking this process, and a connection that another thread
# has open must not be carried along.
os.register_at_fork(
    before=_using_database.acquire,
    after_in_parent=_using_database.release,
    after_in_child=_using_database.release,
)


class SignsOfLife(threading.Thread):
    """Says every few seconds that this worker is well, and ends browsers nobody owns."""

    def __init__(self, worker: str, queues: list[str], slots: int) -> None:
        super().__init__(name="signs-of-life", daemon=True)
        self._worker = worker
        self._queues = queues
        self._slots = slots
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.is_set():
            self._beat()
            end_leftovers()
            self._stopped.wait(settings.ENV.HEARTBEAT_S)

    def stop(self) -> None:
        """Stop, and say that the worker is gone."""
        self._stopped.set()
        self.join()
        with _using_database:
            try:
                WorkerBeat.objects.filter(pk=self._worker).delete()
            except DatabaseError:
                logger.warning("The worker could not say that it is gone.")
            finally:
                connection.close()

    def _beat(self) -> None:
        with _using_database:
            try:
                beat(self._worker, self._queues, self._slots)
            except DatabaseError:
                logger.warning("The worker could not give its sign of life.", exc_info=True)
            finally:
                connection.close()


def beat(worker: str, queues: list[str], slots: int = 1) -> None:
    """Note that the worker is well now, and forget those that are long gone."""
    WorkerBeat.objects.bulk_create(
        [WorkerBeat(name=worker, queues=queues, slots=slots, at=Now())],
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=["queues", "slots", "at"],
    )
    WorkerBeat.objects.filter(at__lt=from_now(-FORGOTTEN_AFTER_S)).delete()


def all_queues() -> set[str]:
    """Every queue that needs a worker."""
    routed = {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
    return {settings.CELERY_TASK_DEFAULT_QUEUE} | routed


def unserved_queues() -> set[str]:
    """Queues of which no worker gave a sign of life within the last three beats."""
    return all_queues().difference(*_living().values_list("queues", flat=True))


def beat_ages() -> dict[str, float | None]:
    """Seconds since a worker of each queue last said that it is well; None where none ever did."""
    ages: dict[str, float | None] = dict.fromkeys(sorted(all_queues()))
    beats = WorkerBeat.objects.annotate(now=Now()).values_list("queues", "at", "now")
    for queues, at, now in beats:
        age = round((now - at).total_seconds(), 1)
        for queue in queues:
            known = ages.get(queue)
            ages[queue] = age if known is None else min(known, age)
    return ages


def browsers() -> int:
    """How many runs all living workers together can have under way."""
    return sum(
        slots for queues, slots in _living().values_list("queues", "slots") if BROWSER in queues
    )


def idle_browsers() -> int | None:
    """How many more runs they could take now; None if no worker lives that takes any."""
    every = browsers()
    busy = Run.objects.held_here().count()
    return max(every - busy, 0) if every else None


def _living() -> QuerySet[WorkerBeat]:
    return WorkerBeat.objects.filter(at__gt=from_now(-3 * settings.ENV.HEARTBEAT_S))


def is_stopping() -> bool:
    """Whether the worker that this process belongs to was asked to stop."""
    return _stopping is not None and _stopping.is_set()


def prepare_next_run() -> None:
    """Have what every run needs started while nobody waits, in a process that will have one."""
    if _carries_out_runs:
        prepare_browser()


_stopping: Event | None = None
_signs: SignsOfLife | None = None
_carries_out_runs = False


@worker_init.connect
def _prepare(**_: Any) -> None:
    """Before the pool forks, so that its processes share the event."""
    global _stopping
    _stopping = multiprocessing.get_context("fork").Event()
    connection_created.connect(hold_rows_no_longer_than_a_lease)


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


@celeryd_after_setup.connect
def _load(instance: Any, **_: Any) -> None:
    """Once for all processes of the pool, and before somebody waits for their first run."""
    global _carries_out_runs
    _carries_out_runs = BROWSER in instance.app.amqp.queues.consume_from
    if _carries_out_runs:
        load_suites()


@worker_process_init.connect
def _begin(**_: Any) -> None:
    """In each process of the pool: a driver does not survive a fork."""
    mark_browsers()
    prepare_next_run()


@task_prerun.connect
def _clear(**_: Any) -> None:
    """What an earlier task left behind must not keep this one from the database."""
    forget_foreign_loop()


@worker_ready.connect
def _start(sender: Any, **_: Any) -> None:
    global _signs
    queues = sorted(sender.app.amqp.queues.consume_from)
    _signs = SignsOfLife(sender.hostname, queues, sender.controller.concurrency)
    _signs.start()


@worker_shutting_down.connect
def _hand_back(**_: Any) -> None:
    """Runs under way notice at their next step, end, and are queued anew."""
    if _stopping is not None:
        _stopping.set()


@worker_shutdown.connect
def _stop(**_: Any) -> None:
    if _signs is not None:
        _signs.stop()
