"""Connections to PostgreSQL that are looked at before they are used again, instead of tried out.

They keep what they learned of statements that are asked again and again.
"""

from __future__ import annotations

import select

from django.db.backends.postgresql import base
from django.db.backends.utils import CursorWrapper

KEPT_CURSORS = 100
"""As many statements as psycopg keeps planned on a connection."""


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own, but for its question before each request whether the server is still there.

    A server that goes away, restarts or ends a connection says so: that lies unread on the socket.
    Where nothing lies there the question is spared, one of eight that a label asks. Should a server
    vanish without a word, the question would have waited as long as what is asked next.
    """

    health_check_done: bool

    def connect(self) -> None:
        """A new connection, which knows no statement yet."""
        self._kept: dict[str, base.ServerBindingCursor] = {}
        super().connect()

    def planned_cursor(self, statement: str) -> CursorWrapper:
        """A cursor for this statement alone, which is read and planned once a connection.

        It is kept with the connection, and with it how its values are written and its rows are
        read, which takes as long to find out as the rest of asking.
        """
        self.close_if_health_check_failed()
        self.ensure_connection()
        cursor = self._kept.get(statement)
        if cursor is None:
            if len(self._kept) >= KEPT_CURSORS:
                self._kept.clear()
            cursor = base.ServerBindingCursor(self.connection)  # type: ignore[call-arg]
            self._kept[statement] = cursor
        wrapped: CursorWrapper = self._prepare_cursor(cursor)  # type: ignore[attr-defined]
        return wrapped

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
