"""What every database offers to backups."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class BackupError(Exception):
    """The backup or its return is impossible; the message says why."""


class RowDump(Protocol):
    """Rows of one moment, out and in again."""

    def dump(self, folder: Path) -> dict[str, int]:
        """Write all rows as they are at one moment; how many each table has then.

        Raises:
            BackupError: it cannot be done.
        """
        ...

    def restore(self, folder: Path) -> None:
        """Replace everything in the database by what was dumped.

        Raises:
            BackupError: it cannot be done.
        """
        ...
