"""Processes that end with those that started them, and have names of their own."""

from __future__ import annotations

import ctypes
import signal
import sys

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
