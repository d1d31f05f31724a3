"""Connections to PostgreSQL that are looked at before they are used again, instead of tried out."""

from __future__ import annotations

import select

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's own, but for its question before each request whether the server is still there.

    A server that goes away, restarts or ends a connection says so: that lies unread on the socket.
    Where nothing lies there the question is spared, one of eight that a label asks. Should a server
    vanish without a word, the question would have waited as long as what is asked next.
    """

    health_check_done: bool

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
