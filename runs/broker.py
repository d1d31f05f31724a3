"""The brokers of the site: Celery's transports, each mended where it lets a worker down.

Celery's own file-system transport opens a message's file before it writes it, so a worker that
looks in between reads half a message and stops for good. Its Redis transport (Kombu 5.7.0), asked
to close a connection that broke while a message was waited for, gives up half-way, and the
worker's next try breaks on what the first one left: the worker ends instead of connecting anew.
"""

from __future__ import annotations

import os
import time
import uuid
from contextlib import suppress
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem, redis
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


class RedisChannel(redis.Channel):
    """Closes to its end, whatever has become of its connections."""

    def close(self) -> None:
        """Take in the reply that is waited for, if it still comes; then close."""
        if self._in_poll:  # type: ignore[attr-defined]  # the stubs have none of this
            with suppress(Empty, *self.connection_errors):  # type: ignore[attr-defined]
                self._brpop_read()  # type: ignore[attr-defined]
        super().close()


class RedisTransport(redis.Transport):
    """Celery over Redis."""

    Channel = RedisChannel
