"""Processes and threads of our own, which nobody has to wait for or to clean up after, and the room
for the frames of their calls.

Processes end with those that started them, have names, and leave no folders behind. A thread does
what it is given, one thing after the other. Playwright's synchronous objects belong to the thread
that made them, and refuse threads in which an event loop runs. With a thread of their own they work
from a Celery worker, a thread pool or an async program alike; a call that hangs can be abandoned.
"""

import asyncio
import ctypes
import fcntl
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import wraps
from pathlib import Path
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
logger = logging.getLogger(__name__)

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_NAME_LENGTH = 15
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def end_with_parent(parent: int, by: signal.Signals) -> None:
    """In the child: get this signal when the parent dies, however it dies. On Linux alone.

    A parent that died before the child could ask for it sends none: the child ends at once.
    """
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, by)
    if os.getppid() != parent:
        os._exit(1)


def name_process(name: str) -> None:
    """Have `ps -o comm` and `top` show this process under the name, of which 15 letters count."""
    if _libc is not None:
        _libc.prctl(_PR_SET_NAME, name.encode()[:_NAME_LENGTH])


class HeldFolder:
    """A new temporary folder, held until `remove`. What others of the name left behind goes first.

    Who has it holds a lock on it, and the system takes the lock away with the process, however that
    ends: no number of a process has to be believed, which may be another's by now. A process that
    is forked meanwhile holds it too, for as long as it lives.
    """

    def __init__(self, prefix: str) -> None:
        sweep(prefix)
        held = None
        while held is None:
            self.path = tempfile.mkdtemp(prefix=prefix)
            # Between these two lines it is nobody's, and another may sweep it up.
            held = _hold(self.path)
        self._lock = held

    def remove(self) -> None:
        """Delete it with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def sweep(prefix: str) -> None:
    """Delete the folders of that name whose process is gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        if (lock := _hold(str(folder))) is None:
            continue
        if os.fstat(lock).st_uid == os.getuid():
            shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _hold(folder: str) -> int | None:
    """The lock on a folder; None where somebody else holds it, or it is gone."""
    with suppress(OSError):
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_nlink:
                return lock
        os.close(lock)
    return None


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


SLOTS = 32_768
"""A frame of so many gets a chunk of 512 KB, and leaves half of it to the calls below: thousands.

What is not used of it takes no memory.
"""


def in_one_chunk(function: Callable[P, T]) -> Callable[P, T]:
    """The function, whose own calls do not cross the edge of a chunk.

    CPython 3.11 to 3.13 keep frames in chunks of 16 KB and ask the system for memory at each call
    over the edge of one, which can make a page take half as long again (python/cpython#142183). A
    frame too large for such a chunk gets one of twice its size or more, which all calls below it
    share.
    """

    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    call.__code__ = call.__code__.replace(co_stacksize=SLOTS)
    return wraps(function)(call)
