"""Celery's transport over files, mended where it let a worker down."""

import fcntl
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kombu.exceptions import OperationalError
from kombu.transport import filesystem
from kombu.transport.filesystem import exchange_queue_t
from kombu.utils.json import dumps


@contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """A file to write, which then takes the place of another.

    Raises:
        OperationalError: the disk takes nothing, as a broker does that cannot be reached.
    """
    unfinished = path.with_name(f"{path.stem}.part")
    try:
        yield unfinished
        os.replace(unfinished, path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise OperationalError(str(error)) from error


class FileChannel(filesystem.Channel):
    """Writes aside, then renames."""

    def _put(  # type: ignore[override]  # other names of arguments; Kombu passes positions
        self, queue: str, payload: Any, **kwargs: Any
    ) -> None:
        name = f"{time.time_ns() // 1_000_000}_{uuid.uuid4()}.{queue}.msg"
        with _replaced(Path(self.data_folder_out) / name) as unfinished:
            unfinished.write_text(dumps(payload))

    def get_table(self, exchange: str) -> list[Any]:
        """The queues of an exchange; none where whoever wrote them down was killed over it."""
        try:
            return super().get_table(exchange)
        except ValueError:
            return []

    def _queue_bind(
        self, exchange: str, routing_key: str | None, pattern: str | None, queue: str | None
    ) -> None:
        folder = Path(self.control_folder)
        bound = exchange_queue_t(routing_key or "", pattern or "", queue or "")
        # The kernel lets go of the lock when its holder is killed.
        with (folder / "tables.lock").open("w") as guard:
            fcntl.flock(guard, fcntl.LOCK_EX)
            table = self.get_table(exchange)
            if bound not in table:
                with _replaced(folder / f"{exchange}.exchange") as unfinished:
                    unfinished.write_text(dumps([bound, *table]))


class FileTransport(filesystem.Transport):
    """Celery over a folder."""

    Channel = FileChannel
