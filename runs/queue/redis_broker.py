"""Celery's transport over Redis, mended where it lets a worker down.

Kombu's own (5.7.0), asked to close a connection that broke while a message was waited for, gives up
half-way, and the worker's next try breaks on what the first one left: the worker ends instead of
connecting anew.
"""

from __future__ import annotations

from contextlib import suppress
from queue import Empty

from kombu.transport import redis


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
