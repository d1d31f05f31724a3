"""The broker of files, and processes that hear nothing of it though they live.

So stood a worker whose pool had lost its lock, while it said that it was well.
"""

import os
from pathlib import Path
from queue import Empty
from typing import Any

from runs.queue.file_broker import FileChannel, FileTransport


def deafen(pid: int, control_folder: Path) -> None:
    """From now on this process finds no message."""
    _mark(pid, control_folder).touch()


def _mark(pid: int, control_folder: Path) -> Path:
    return control_folder / f"deaf-{pid}"


class DeafChannel(FileChannel):
    """Finds no message once it was made deaf."""

    def _get(self, queue: str) -> Any:  # type: ignore[override]  # Kombu passes the queue alone
        if _mark(os.getpid(), Path(self.control_folder)).exists():
            raise Empty
        return super()._get(queue)


class DeafTransport(FileTransport):
    """Celery over a folder, for processes that may be made deaf."""

    Channel = DeafChannel
