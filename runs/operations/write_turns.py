"""Who writes to SQLite waits in a queue: first come, first served.

By itself SQLite looks again after ever longer sleeps, up to a tenth of a second, and whoever comes
just then goes first: of eight people who label, one waited seconds. Here whoever begins a
transaction waits for a lock of the operating system, which threads and processes alike get one
after the other. Only the first in the queue looks whether the database is free, every millisecond,
and lets the next one do so once its transaction has begun.

Nobody depends on it: a statement outside a transaction, and a program that knows no queue, still
wait as SQLite does. The lock ends with the file, however its process ends, and is never held while
anything else is waited for than the database, and that no longer than `timeout` says.
"""

import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver

LOOK_EVERY_S = 0.001
BEGIN = "BEGIN IMMEDIATE"
QUEUE_FILE = "-queue"
"""What the name of the lock's file ends with, beside the database."""


@receiver(connection_created)
def queue_writers(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Have transactions of the connection begin in turn, where it is one to a file of SQLite."""
    if connection.vendor != "sqlite":
        return
    files = connection.connection.execute("PRAGMA database_list").fetchall()
    path = next(file for _, name, file in files if name == "main")
    queue = path and path + QUEUE_FILE  # one in memory has none
    # A driver's connection is new each time, Django's stays with its thread.
    turn = next((each for each in connection.execute_wrappers if isinstance(each, _InTurn)), None)
    if turn is not None:
        turn.queue = queue
    elif queue:
        connection.execute_wrappers.insert(0, _InTurn(connection, queue))


class _InTurn:
    """Runs each statement of a connection; one that begins a transaction, in turn."""

    def __init__(self, connection: BaseDatabaseWrapper, queue: str) -> None:
        self._connection = connection
        self.queue = queue
        """The lock's file, beside the database that is open now."""
        self._timeout_s = connection.settings_dict["OPTIONS"]["timeout"]

    def __call__(
        self,
        execute: Callable[..., Any],
        sql: str,
        params: Any,
        many: bool,
        context: dict[str, Any],
    ) -> Any:
        if sql != BEGIN or not self.queue:
            return execute(sql, params, many, context)
        with self._turn(), self._without_sleep():
            deadline = time.monotonic() + self._timeout_s
            while True:
                try:
                    return execute(sql, params, many, context)
                except OperationalError as error:
                    if not _is_busy(error) or time.monotonic() > deadline:
                        raise
                time.sleep(LOOK_EVERY_S)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        # Opened anew each time: threads, and processes that were forked, then wait for each other.
        try:
            queue = os.open(self.queue, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:  # no room for it, for instance: out of turn
            yield
            return
        try:
            fcntl.flock(queue, fcntl.LOCK_EX)
            yield
        finally:
            os.close(queue)

    @contextmanager
    def _without_sleep(self) -> Iterator[None]:
        """SQLite says at once that it is busy."""
        driver = self._connection.connection
        driver.execute("PRAGMA busy_timeout = 0")
        try:
            yield
        finally:
            driver.execute(f"PRAGMA busy_timeout = {1000 * self._timeout_s:.0f}")


def _is_busy(error: OperationalError) -> bool:
    return getattr(error.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
