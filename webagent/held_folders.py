"""Folders of temporary files that are swept up after whoever made them was killed.

Who has such a folder holds a lock on it, and the system takes the lock away with the process,
however that ends. What nobody holds is nobody's: no number of a process has to be believed, which
may be another's by now.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path


class HeldFolder:
    """A new folder that is held until `remove`. What others of the name left behind goes first.

    A process that is forked meanwhile holds it too, for as long as it lives.
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
