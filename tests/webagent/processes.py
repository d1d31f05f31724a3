"""Which processes hang on this one, as the system's /proc tells."""

import os
import time
from pathlib import Path


def _stat(pid: int) -> tuple[int, str, str] | None:
    """Parent, state and start time of a process; None if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), fields[0], fields[19]


def descendants() -> dict[int, str]:
    """Start time by id of every process that this one started, directly or not."""
    table = {
        int(entry.name): stat
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and (stat := _stat(int(entry.name)))
    }
    found: dict[int, str] = {}
    parents = {os.getpid()}
    while parents:
        children = {pid for pid, stat in table.items() if stat[0] in parents and pid not in found}
        found.update({pid: table[pid][2] for pid in children})
        parents = children
    return found


def browsers(pids: dict[int, str]) -> list[int]:
    """Those among the processes that are Chromium's main one."""
    return [pid for pid in pids if "--remote-debugging-pipe" in command(pid).split("\0")]


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def left_of(pids: dict[int, str], within_s: float = 5.0) -> list[str]:
    """What is still there of these processes after a while, dead ones nobody fetched included."""
    deadline = time.monotonic() + within_s
    while True:
        left = [
            f"{pid} {stat[1]} {command(pid)[:200]}"
            for pid, started in pids.items()
            if (stat := _stat(pid)) and stat[2] == started
        ]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)
