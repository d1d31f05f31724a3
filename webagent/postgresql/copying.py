"""Many rows at once, by PostgreSQL's own way in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from psycopg import Cursor


class CopyingCursor(Cursor[Any]):
    """Copies rows into a table: they are neither written into a statement nor planned."""

    def executemany(
        self,
        query: Any,
        params_seq: Iterable[Sequence[Any] | Mapping[str, Any]],
        *,
        returning: bool = False,
    ) -> None:
        """Copy rows of values by a `COPY ... FROM STDIN`."""
        with self.copy(query) as copy:
            for values in params_seq:
                copy.write_row(list(values))
