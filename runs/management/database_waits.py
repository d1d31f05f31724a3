"""A database that is still starting is waited for, and whoever waits is told."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.core.management.base import CommandError
from django.db import OperationalError, connection

WAIT_LIMIT_S = 300.0
LOOK_EVERY_S = 1.0
TELL_EVERY_S = 15.0


def wait_for_database(say: Callable[[str], None]) -> None:
    """Return once the database answers, saying now and then why it is waited for.

    Raises:
        CommandError: it did not answer in time, and the message says why; or nobody wants to wait.
    """
    try:
        _wait(say)
    except KeyboardInterrupt:
        raise CommandError("Stopped before the database answered.") from None


def _wait(say: Callable[[str], None]) -> None:
    started, told = time.monotonic(), float("-inf")
    while True:
        try:
            connection.ensure_connection()
        except OperationalError as error:
            why = str(error).strip().partition("\n")[0]
        else:
            if told > started:
                say("The database answers.")
            return
        now = time.monotonic()
        if now - started > WAIT_LIMIT_S:
            raise CommandError(f"The database has not answered for {WAIT_LIMIT_S:.0f} s: {why}")
        if now - told > TELL_EVERY_S:
            say(f"Waiting for the database: {why}")
            told = time.monotonic()
        time.sleep(LOOK_EVERY_S)
