"""A thread that does what it is given, one thing after the other.

Playwright's synchronous objects belong to the thread that made them, and refuse threads in
which an event loop runs. With a thread of their own they work from a Celery worker, a thread
pool or an async program alike, and a call that hangs can be given up.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
logger = logging.getLogger(__name__)


class StillRunning(Exception):
    """A call did not end in its time."""


def forget_foreign_loop() -> bool:
    """Whether this thread was marked as running an event loop that is not its own; it is no more.

    A synchronous call of Playwright's that comes from another thread than its own (of a finalizer,
    say, which runs wherever garbage is collected) fails, and leaves that thread marked for good.
    Django then refuses every query in it.
    """
    loop = asyncio._get_running_loop()
    # A loop knows the thread that it runs in.
    if loop is None or getattr(loop, "_thread_id", None) == threading.get_ident():
        return False
    asyncio._set_running_loop(None)
    logger.warning("This thread was marked as running the event loop of another one.")
    return True


class OwnThread:
    """Runs calls on one daemon thread, started with the first of them."""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def call(
        self,
        function: Callable[[], T],
        timeout_s: float,
        *,
        not_counted_s: Callable[[], float] = lambda: 0.0,
    ) -> T:
        """What the function returns or raises.

        Args:
            not_counted_s: a clock of what the function did that is not to count.

        Raises:
            StillRunning: its time is over; it goes on in its thread.
        """
        future = self.begin(function)
        deadline = time.monotonic() + timeout_s - not_counted_s()
        while not wait([future], max(deadline + not_counted_s() - time.monotonic(), 0)).done:
            if time.monotonic() >= deadline + not_counted_s():
                raise StillRunning
        return future.result()

    def begin(self, function: Callable[[], T]) -> Future[T]:
        """Have the function called once those before it are done; nobody waits for it."""
        if not self._thread.is_alive():
            self._thread.start()
        future: Future[T] = Future()
        self._calls.put((function, future))
        return future

    def stop(self, timeout_s: float) -> bool:
        """Whether the thread ended in time. It takes no further calls either way."""
        if not self._thread.is_alive():
            return True
        self._calls.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            function, future = call
            try:
                future.set_result(function())
            except BaseException as error:  # noqa: BLE001 (it is raised again by the caller)
                future.set_exception(error)
