"""Several runs at a time: threads that take work and lay down results."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from types import TracebackType
from typing import Generic, Self, TypeVar

from django.db import connection

Work = TypeVar("Work")
Result = TypeVar("Result")


class InTurn(Generic[Work, Result]):
    """Does everything itself, in this thread and on its connection, when asked for results."""

    def __init__(self, do: Callable[[Work], Result], *, at_a_time: int) -> None:
        self._do = do
        self._at_a_time = at_a_time
        self._waiting: list[Work] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._waiting.clear()

    @property
    def room(self) -> int:
        """How many more it takes."""
        return self._at_a_time - len(self._waiting)

    @property
    def under_way(self) -> int:
        """How many are taken up and not through."""
        return len(self._waiting)

    @property
    def is_short(self) -> bool:
        """Whether it could do with more work before it has nothing to do."""
        return not self._waiting

    def drop_waiting(self) -> None:
        """Forget what has not begun."""
        self._waiting.clear()

    def submit(self, work: Work) -> None:
        """Take up one more."""
        self._waiting.append(work)

    def results(self, wait_s: float) -> list[Result]:
        """All results."""
        waiting, self._waiting = self._waiting, []
        return [self._do(work) for work in waiting]


class AtOnce(Generic[Work, Result]):
    """Does `size` pieces of work at a time, each thread with a connection of its own.

    Twice as much waits for the next free thread, so that none stands idle. On the way out what
    has not begun is dropped, and what has begun is waited for.
    """

    def __init__(self, do: Callable[[Work], Result], *, size: int) -> None:
        self._do = do
        self._size = size
        self._todo: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Result | BaseException] = queue.SimpleQueue()
        self._under_way = 0
        self._threads = [
            threading.Thread(
                target=copy_context().run, args=(self._work,), name=f"judge {number}", daemon=True
            )
            for number in range(size)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.drop_waiting()
        for _ in self._threads:
            self._todo.put(None)
        for thread in self._threads:
            thread.join()

    @property
    def room(self) -> int:
        """How many more it takes."""
        return 3 * self._size - self._under_way

    @property
    def under_way(self) -> int:
        """How many are taken up and their results not taken yet."""
        return self._under_way

    @property
    def is_short(self) -> bool:
        """Whether it could do with more work before a thread has nothing to do."""
        return self._under_way <= 2 * self._size

    def drop_waiting(self) -> None:
        """Forget what has not begun."""
        with suppress(queue.Empty):
            while True:
                self._todo.get_nowait()
                self._under_way -= 1

    def submit(self, work: Work) -> None:
        """Take up one more."""
        self._under_way += 1
        self._todo.put(work)

    def results(self, wait_s: float) -> list[Result]:
        """Results that are there; waits for the first, but no longer than `wait_s`.

        Raises:
            BaseException: whatever the work raised.
        """
        found: list[Result] = []
        while self._under_way:
            try:
                result = self._done.get(timeout=0 if found else wait_s)
            except queue.Empty:
                break
            self._under_way -= 1
            if isinstance(result, BaseException):
                raise result
            found.append(result)
        return found

    def _work(self) -> None:
        try:
            while (work := self._todo.get()) is not None:
                try:
                    self._done.put(self._do(work))
                except BaseException as error:  # noqa: BLE001 (raised where results are taken)
                    self._done.put(error)
        finally:
            connection.close()
