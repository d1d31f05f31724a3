"""Browsers whose program died: find them by the mark they inherited, and end them.

A program that drives browsers marks itself once; everything it starts inherits the mark in
its environment. Whoever looks later (the next run, the sweep, a supervisor) can tell from the
mark that the owner is gone, even after kill -9, which lets nobody clean up behind themselves.
Only for systems with /proc; elsewhere nothing is found, and Playwright's own cleaning is all.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

OWNER_VARIABLE = "CROSSCHECK_BROWSER_OWNER"

_PROC = Path("/proc")
_PARENT, _START = 1, 19
"""Places in /proc/PID/stat, counted from the state after the name."""


def mark_browsers() -> None:
    """Whatever this process starts from now on carries its mark."""
    os.environ[OWNER_VARIABLE] = _mark(os.getpid()) or ""


def end_leftovers() -> int:
    """Kill what dead owners left behind; returns how many processes were killed."""
    marks = _marks()
    space = _namespace()
    dead = {
        mark
        for mark in set(marks.values())
        if mark.startswith(f"{space}:") and _mark(int(mark.split(":")[1])) != mark
    }
    return _kill(pid for pid, mark in marks.items() if mark in dead)


def end_own_browsers() -> int:
    """Kill what this process started and has not closed; returns how many were killed."""
    own = _mark(os.getpid())
    return _kill(pid for pid, mark in _marks().items() if mark == own and pid != os.getpid())


def _kill(pids: Iterable[int]) -> int:
    """Kill these processes and all below them: Chromium's children overwrite their mark."""
    children = defaultdict(set)
    for pid in _pids():
        if stat := _stat(pid):
            children[int(stat[_PARENT])].add(pid)
    pending: set[int] = set()
    waiting = set(pids)
    while waiting:
        pid = waiting.pop()
        pending.add(pid)
        waiting |= children[pid] - pending
    for pid in pending:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return len(pending)


def _pids() -> list[int]:
    return [int(folder.name) for folder in _PROC.glob("[0-9]*")]


def _marks() -> dict[int, str]:
    """The mark of every process that carries one and that we may look at."""
    name = f"{OWNER_VARIABLE}=".encode()
    found = {}
    for pid in _pids():
        with contextlib.suppress(OSError):
            for entry in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                if entry.startswith(name) and len(entry) > len(name):
                    found[pid] = entry[len(name) :].decode("ascii", "replace")
    return found


def _mark(pid: int) -> str | None:
    """Namespace, number and start time: a name that no later process will have."""
    stat = _stat(pid)
    return f"{_namespace()}:{pid}:{stat[_START]}" if stat and stat[0] != "Z" else None


def _namespace() -> str:
    """Which process numbers these are: containers count anew."""
    try:
        return (_PROC / "self/ns/pid").readlink().name.strip("pid:[]")
    except OSError:
        return ""


def _stat(pid: int) -> list[str] | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    return text.rpartition(")")[2].split()
