"""Processes that end with those that started them, have names, and leave no folders behind."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_NAME_LENGTH = 15
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def end_with_parent(by: signal.Signals) -> None:
    """In the child: get this signal when its parent dies, however it dies. On Linux alone."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, by)


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
