"""A blob store whose disk is full from the k-th write on."""

import errno
import itertools
from collections.abc import Iterable
from typing import Any

from runs.storage.file_storage import BlobFileStorage, Unsynced


class FullStorage(BlobFileStorage):
    """Refuses the write number `fails_at` (from 1), and all after it."""

    def __init__(self, *, fails_at: int, **options: Any) -> None:
        super().__init__(**options)
        self.fails_at = fails_at
        self._numbers = itertools.count(1)  # counts right from several threads at once

    def _write(self, name: str, chunks: Iterable[bytes]) -> Unsynced:
        if next(self._numbers) >= self.fails_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super()._write(name, chunks)
