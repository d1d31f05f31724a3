"""What an asked model costs, and how many threads ask it at a time."""

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Generic, Self, TypeVar

from django.db import connection

from webagent.llm.interface import FailureKind, LanguageModel, ModelFailure, Reply, Request, Usage

HOPELESS = frozenset(
    {FailureKind.NOT_AUTHORISED, FailureKind.NOT_CONFIGURED, FailureKind.NO_CREDIT}
)
"""Failures that every other request would meet as well, until somebody changes something."""
LONGEST_STREAK = 20
"""So many failures without a reply between them: the provider is away, not this one request."""


class Meter:
    """Passes requests on, and notes what becomes of them. Safe under threads.

    Attributes:
        unpriced: replies whose price is unknown.
        input_tokens, output_tokens: as providers count them, in failures too as far as they tell;
            not in kept replies.
        is_out_of_budget: a request was refused for its costs.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.unpriced = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.is_out_of_budget = False
        self._model = model
        self._lock = threading.Lock()
        self._here = threading.local()
        self._streak = 0
        self._last_failure = ""
        self._hopeless = ""

    @property
    def breakdown(self) -> str:
        """Why it makes no sense to go on, in words; empty while it does."""
        if self._hopeless:
            return self._hopeless
        return self._last_failure if self._streak >= LONGEST_STREAK else ""

    def start_item(self) -> None:
        """This thread asks for another piece of work from now on, such as one run."""
        self._here.is_void = False

    @property
    def is_item_void(self) -> bool:
        """Whether it was not worked on at all, so that what was found means nothing."""
        return bool(self._here.is_void)

    def complete(self, request: Request) -> Reply:
        """The reply of the model.

        Raises:
            ModelFailure: there is none.
        """
        try:
            reply = self._model.complete(request)
        except ModelFailure as failure:
            self._note_failure(failure)
            raise
        with self._lock:
            self._streak = 0
            self.unpriced += reply.cost is None
            if not reply.is_cached:
                self._count(reply.usage)
        return reply

    def _note_failure(self, failure: ModelFailure) -> None:
        is_refused = failure.kind is FailureKind.OUT_OF_BUDGET
        is_hopeless = failure.kind in HOPELESS
        if is_refused or is_hopeless:
            self._here.is_void = True
        with self._lock:
            self._count(failure.usage)
            self.is_out_of_budget |= is_refused
            if is_hopeless:
                self._hopeless = str(failure)
            elif failure.kind.is_temporary:
                self._streak += 1
                self._last_failure = str(failure)

    def _count(self, usage: Usage) -> None:
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens


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

    def __exit__(self, *_: object) -> None:
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

    def __exit__(self, *_: object) -> None:
        self.drop_waiting()
        for _thread in self._threads:
            self._todo.put(None)
        for thread in self._threads:
            thread.join()

    @property
    def room(self) -> int:
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
        with suppress(queue.Empty):
            while True:
                self._todo.get_nowait()
                self._under_way -= 1

    def submit(self, work: Work) -> None:
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
