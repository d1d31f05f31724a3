"""Connections to PostgreSQL that are looked at before they are used again, instead of tried out.

They keep what they learned of statements that are asked again and again.
"""

from __future__ import annotations

import select
from itertools import count

from django.db.backends.postgresql import base
from django.db.backends.utils import CursorWrapper

from webagent.postgresql.copying import CopyingCursor
from webagent.postgresql.planned import PlannedCursor

KEPT_CURSORS = 100
"""As many statements are kept planned on a connection; then all of them are forgotten."""


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own, but for its question before each request whether the server is still there.

    A server that goes away, restarts or ends a connection says so: that lies unread on the socket.
    Where nothing lies there the question is spared, one of eight that a label asks. Should a server
    vanish without a word, the question would have waited as long as what is asked next.
    """

    health_check_done: bool

    def connect(self) -> None:
        """A new connection, which knows no statement yet."""
        self._kept: dict[str, PlannedCursor] = {}
        self._numbers = count()
        super().connect()

    def planned_cursor(self, statement: str) -> CursorWrapper:
        """A cursor for this statement alone, kept with the connection. It is not to be closed."""
        self.close_if_health_check_failed()
        if self.connection is None:
            self.ensure_connection()
        cursor = self._kept.get(statement)
        if cursor is None:
            if len(self._kept) >= KEPT_CURSORS:
                self._forget_all()
            cursor = self._kept[statement] = PlannedCursor(self.connection, next(self._numbers))
        wrapped: CursorWrapper = self._prepare_cursor(cursor)  # type: ignore[attr-defined]
        return wrapped

    def copying_cursor(self) -> CursorWrapper:
        """A cursor whose `executemany` takes a `COPY … FROM STDIN` and rows of values."""
        self.close_if_health_check_failed()
        self.ensure_connection()
        cursor = CopyingCursor(self.connection)
        wrapped: CursorWrapper = self._prepare_cursor(cursor)  # type: ignore[attr-defined]
        return wrapped

    def _forget_all(self) -> None:
        while self._kept:
            _, cursor = self._kept.popitem()
            cursor.forget()

    def close_if_health_check_failed(self) -> None:
        """Close a connection that has ended since it was last used."""
        if self.connection is not None and not self.health_check_done:
            self.health_check_done = self._is_silent()
        super().close_if_health_check_failed()

    def _is_silent(self) -> bool:
        """Whether nothing has come from the server that nobody asked for."""
        if self.connection.closed:
            return False
        waiting = select.poll()
        waiting.register(self.connection.fileno(), select.POLLIN)
        return not waiting.poll(0)
