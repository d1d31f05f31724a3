"""Several processes as one: forked from this one, their words on one screen, stopped together.

They are forked, so that what they all need is imported once and lies in memory once. This process
stays single-threaded and has no connection open, and nothing is shared with a part but the time of
its last sign of life: whichever of them is killed at whatever moment, the others are not held up.
"""

import contextlib
import gc
import multiprocessing
import os
import selectors
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.context import ForkProcess
from typing import Any

from webagent.environment.browser import end_leftovers
from webagent.process.children import end_with_parent, name_process

STOP_LIMIT_S = 30
TICK_S = 0.25
LONGEST_PAUSE_S = 30.0
STEADY_AFTER_S = 60.0
GIVE_UP_AFTER = 8
"""So many ends in a row without `STEADY_AFTER_S` between them: it cannot run at all."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Alive = Callable[[], None]
"""Called by a part whenever it is well."""
_fork = multiprocessing.get_context("fork")


@dataclass
class SupervisedPart:
    """One process, started again when it ends by itself.

    Args:
        work: what it does, till it is told to stop by SIGTERM.
        silent_after_s: it is killed when it has called `Alive` for so long no more; None: never.
    """

    name: str
    work: Callable[[Alive], object]
    silent_after_s: float | None = None
    process: ForkProcess | None = None
    started_at: float = 0.0
    ends: int = 0
    again_at: float = 0.0
    unfinished: bytes = field(default=b"", repr=False)
    _heard_at: Any = field(default_factory=lambda: _fork.RawValue("d", 0.0), repr=False)

    def start(self, before_work: Callable[[], None]) -> int:
        """Start it; the end of a pipe from which its words are to be read.

        Args:
            before_work: called in it at first, to close what is not its own.
        """
        reading, writing = os.pipe()
        # A signal that comes too early is kept for the part's own handlers.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            self._heard_at.value = self.started_at = time.monotonic()
            child = partial(self._be_the_part, os.getpid(), reading, writing, before_work)
            self.process = _fork.Process(target=child, name=self.name)
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            os.close(writing)
        return reading

    def tell(self, number: signal.Signals) -> None:
        """Signal the process."""
        if self.process is not None and self.process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, number)

    def kill(self) -> None:
        """kill -9 to the process, and to what it started in its group, which may outlive it."""
        self.tell(signal.SIGKILL)
        if self.process is not None and self.process.pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.is_alive()

    @property
    def is_silent(self) -> bool:
        """Whether it has given no sign of life for too long."""
        limit_s = self.silent_after_s
        return limit_s is not None and time.monotonic() - float(self._heard_at.value) > limit_s

    def _be_the_part(
        self, supervisor: int, reading: int, writing: int, before_work: Callable[[], None]
    ) -> None:
        end_with_parent(supervisor, signal.SIGTERM)
        before_work()
        os.close(reading)
        # A group of its own, so that a Ctrl-C goes to the supervisor alone.
        os.setsid()
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        for stream in (1, 2):
            os.dup2(writing, stream)
        os.close(writing)
        sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115 (till its end)
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115 (likewise)
        name_process(self.name)
        self.work(self._is_alive)

    def _is_alive(self) -> None:
        self._heard_at.value = time.monotonic()


class Supervisor:
    """Runs the parts until it is told to stop.

    Args:
        say: takes each line of a part's output, with the part's name before it.
        look: called several times a second while all goes well.
        stop_limit_s: a part that was told to stop is killed after so long.
    """

    def __init__(
        self,
        parts: Sequence[SupervisedPart],
        *,
        say: Callable[[str], None],
        look: Callable[[], None] = lambda: None,
        stop_limit_s: float = STOP_LIMIT_S,
    ) -> None:
        self._parts = parts
        self._stop_limit_s = stop_limit_s
        self._say = say
        self._look = look
        self._is_stopping = False
        self._selector = selectors.DefaultSelector()

    def run(self) -> int:
        """Exit code: 0 after a signal, 1 if a part could not be kept running."""
        for number in SIGNALS:
            signal.signal(number, self._stop)
        # What is here stays: a part that looks for garbage need not copy all of it for that.
        gc.collect()
        gc.freeze()
        code = 0
        try:
            for part in self._parts:
                self._start(part)
            while not self._is_stopping and code == 0:
                self._read(TICK_S)
                kept = [self._tend(part) for part in self._parts]
                code = 0 if all(kept) else 1
                self._look()
        finally:
            self._end_all()
            gc.unfreeze()
        return code

    def _stop(self, *_: object) -> None:
        if self._is_stopping:  # the second Ctrl-C
            for part in self._parts:
                part.kill()
        self._is_stopping = True

    def _start(self, part: SupervisedPart) -> None:
        reading = part.start(before_work=self._close_pipes)
        os.set_blocking(reading, False)
        self._selector.register(reading, selectors.EVENT_READ, part)

    def _close_pipes(self) -> None:
        """In a new part: the words of the others are not its own to read."""
        for key in list(self._selector.get_map().values()):
            os.close(key.fd)
        self._selector.close()

    def _tend(self, part: SupervisedPart) -> bool:
        """Restart the part if it ended or fell silent; False if there is no use in it."""
        if part.is_running:
            if part.is_silent:
                self._say(f"{part.name} gives no sign of life; it is killed")
                part.kill()
            return True
        if part.process is not None:
            self._note_end(part, part.process)
        if part.ends >= GIVE_UP_AFTER:
            self._say(f"{part.name} ended {part.ends} times in a row; giving up")
            return False
        if time.monotonic() >= part.again_at:
            self._start(part)
        return True

    def _note_end(self, part: SupervisedPart, process: ForkProcess) -> None:
        """One that was killed, by the kernel for want of memory say, is able to run."""
        code, now = process.exitcode or 0, time.monotonic()
        self._say(f"{part.name} ended ({code}); it is started again")
        part.kill()
        self._read(0)
        process.close()
        part.process = None
        was_able = code < 0 or now - part.started_at > STEADY_AFTER_S
        part.ends = 1 if was_able else part.ends + 1
        part.again_at = now + min(0.5 * 2**part.ends, LONGEST_PAUSE_S)

    def _read(self, wait_s: float) -> None:
        """Pass on what the parts have written, line by line."""
        for key, _ in self._selector.select(wait_s):
            part: SupervisedPart = key.data
            try:
                chunk = os.read(key.fd, 65536)
            except BlockingIOError:
                continue
            *lines, part.unfinished = (part.unfinished + chunk).split(b"\n")
            if not chunk:
                self._forget(key.fd)
                lines.append(part.unfinished)
                part.unfinished = b""
            for line in lines:
                if line.strip():
                    self._say(f"{part.name} | {line.decode(errors='replace')}")

    def _forget(self, fd: int) -> None:
        self._selector.unregister(fd)
        os.close(fd)

    def _end_all(self) -> None:
        """TERM to each, KILL to whatever is left of them after a while; then to lost browsers."""
        for part in self._parts:
            part.tell(signal.SIGTERM)
        deadline = time.monotonic() + self._stop_limit_s
        while any(part.is_running for part in self._parts) and time.monotonic() < deadline:
            if self._selector.get_map():
                self._read(TICK_S)
            else:
                time.sleep(TICK_S)
        for part in self._parts:
            part.kill()
            if part.process is not None:
                part.process.join()
        for key in list(self._selector.get_map().values()):
            self._forget(key.fd)
        self._selector.close()
        end_leftovers()
