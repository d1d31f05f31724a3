"""The embedded broker: Celery's file-system transport, with messages that appear whole.

The original opens a message's file before it writes it, so a worker that looks in between
reads half a message and stops for good.
"""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path
from typing import Any

from kombu.transport import filesystem
from kombu.utils.json import dumps


class FileChannel(filesystem.Channel):
    """Writes aside, then renames."""

    def _put(  # type: ignore[override]  # other names of arguments; Kombu passes positions
        self, queue: str, payload: Any, **kwargs: Any
    ) -> None:
        folder = Path(self.data_folder_out)
        name = f"{time.time_ns() // 1_000_000}_{uuid.uuid4()}"
        unfinished = folder / f"{name}.part"
        unfinished.write_text(dumps(payload))
        os.replace(unfinished, folder / f"{name}.{queue}.msg")


class FileTransport(filesystem.Transport):
    """Celery over a folder."""

    Channel = FileChannel
