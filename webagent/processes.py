"""Processes that end with those that started them."""

from __future__ import annotations

import ctypes
import signal
import sys

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def end_with_parent(by: signal.Signals) -> None:
    """In the child: get this signal when its parent dies, however it dies. On Linux alone."""
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, by)
