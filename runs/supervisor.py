"""Several programs as one: started together, their words on one screen, stopped together."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from webagent.environment.leftovers import end_leftovers
from webagent.processes import end_with_parent

STOP_LIMIT_S = 30
TICK_S = 0.25
LONGEST_PAUSE_S = 30.0
STEADY_AFTER_S = 60.0
GIVE_UP_AFTER = 8
"""So many ends in a row without `STEADY_AFTER_S` between them: it cannot run at all."""


@dataclass
class Part:
    """One program, restarted when it ends by itself."""

    name: str
    command: Sequence[str]
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    ends: int = 0
    again_at: float = 0.0
    unfinished: bytes = field(default=b"", repr=False)

    def start(self) -> None:
        """Start it in a process group of its own, so that a Ctrl-C goes to the supervisor alone."""
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(end_with_parent, signal.SIGTERM),  # noqa: PLW1509 (one thread only)
        )
        self.started_at = time.monotonic()

    def send(self, number: signal.Signals, *, to_group: bool = False) -> None:
        """Signal the program, or all of its process group, the dead program's children too."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                (os.killpg if to_group else os.kill)(self.process.pid, number)

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None


class Supervisor:
    """Runs the parts until it is told to stop.

    Args:
        say: takes each line of a part's output, with the part's name before it.
        look: called several times a second while all goes well.
    """

    def __init__(
        self, parts: Sequence[Part], *, say: Callable[[str], None], look: Callable[[], None]
    ) -> None:
        self._parts = parts
        self._say = say
        self._look = look
        self._is_stopping = False
        self._selector = selectors.DefaultSelector()

    def run(self) -> int:
        """Exit code: 0 after a signal, 1 if a part could not be kept running."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._stop)
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
        return code

    def _stop(self, *_: object) -> None:
        if self._is_stopping:  # the second Ctrl-C
            for part in self._parts:
                part.send(signal.SIGKILL, to_group=True)
        self._is_stopping = True

    def _start(self, part: Part) -> None:
        part.start()
        assert part.process is not None  # noqa: S101 (mypy)
        assert part.process.stdout is not None  # noqa: S101 (mypy)
        os.set_blocking(part.process.stdout.fileno(), False)
        self._selector.register(part.process.stdout, selectors.EVENT_READ, part)

    def _tend(self, part: Part) -> bool:
        """Restart the part if it ended; False if there is no use in it."""
        if part.is_running:
            return True
        now = time.monotonic()
        if part.process is not None:
            self._say(f"{part.name} ended ({part.process.returncode}); it is started again")
            part.send(signal.SIGKILL, to_group=True)
            self._read(0)
            part.process = None
            part.ends = 1 if now - part.started_at > STEADY_AFTER_S else part.ends + 1
            part.again_at = now + min(0.5 * 2**part.ends, LONGEST_PAUSE_S)
        if part.ends >= GIVE_UP_AFTER:
            self._say(f"{part.name} ended {part.ends} times in a row; giving up")
            return False
        if now >= part.again_at:
            self._start(part)
        return True

    def _read(self, wait_s: float) -> None:
        """Pass on what the parts have written, line by line."""
        for key, _ in self._selector.select(wait_s):
            part: Part = key.data
            try:
                chunk = os.read(key.fd, 65536)
            except BlockingIOError:
                continue
            *lines, part.unfinished = (part.unfinished + chunk).split(b"\n")
            if not chunk:
                self._forget(key)
                lines.append(part.unfinished)
                part.unfinished = b""
            for line in lines:
                if line.strip():
                    self._say(f"{part.name} | {line.decode(errors='replace')}")

    def _forget(self, key: selectors.SelectorKey) -> None:
        self._selector.unregister(key.fileobj)
        key.fileobj.close()  # type: ignore[union-attr]  # a pipe of ours, never a number

    def _end_all(self) -> None:
        """TERM to each, KILL to whatever is left of them after a while; then to lost browsers."""
        for part in self._parts:
            part.send(signal.SIGTERM)
        deadline = time.monotonic() + STOP_LIMIT_S
        while any(part.is_running for part in self._parts) and time.monotonic() < deadline:
            if self._selector.get_map():
                self._read(TICK_S)
            else:
                time.sleep(TICK_S)
        for part in self._parts:
            part.send(signal.SIGKILL, to_group=True)
            if part.process is not None:
                part.process.wait()
        for key in list(self._selector.get_map().values()):
            self._forget(key)
        self._selector.close()
        end_leftovers()
