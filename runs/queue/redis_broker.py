"""Celery's transport over Redis, mended where it let a worker down."""

from contextlib import suppress
from queue import Empty

from kombu.transport import redis


class RedisChannel(redis.Channel):
    """Closes to its end, whatever has become of its connections."""

    def close(self) -> None:
        """Take in the reply that is waited for, if it still comes; then close."""
        if self._in_poll:  # type: ignore[attr-defined]  # the stubs have none of this
            with suppress(Empty, *self.connection_errors):  # type: ignore[attr-defined]  # untyped
                self._brpop_read()  # type: ignore[attr-defined]  # untyped base class
        super().close()


class RedisTransport(redis.Transport):
    """Celery over Redis."""

    Channel = RedisChannel
