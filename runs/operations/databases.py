"""Databases that commands meet: still starting, or not migrated."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from django.core.management.base import CommandError
from django.db import OperationalError, ProgrammingError, connection

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


SHOWN_AS_IT_IS = ("migrate", "--traceback")
"""Where these stand in a command line, what broke is to be seen: of `migrate` it is the answer."""


@contextmanager
def migration_hint(arguments: Sequence[str]) -> Iterator[None]:
    """One plain line and an exit code of 1, where missing tables or columns broke the command.

    Args:
        arguments: the command line, as in `sys.argv`.
    """
    try:
        yield
    except (OperationalError, ProgrammingError) as error:
        # Here, since it knows models, and those are known once the command has begun.
        from runs.operations.health.checks import BEHIND, check_migrations

        missing = check_migrations()
        if not missing.endswith(BEHIND) or not {*SHOWN_AS_IT_IS}.isdisjoint(arguments):
            raise
        said = str(error).partition("\n")[0]
        sys.exit(
            f"The database is not ready ({said}): {missing}. "
            "Run `python manage.py migrate` first; `make run` does so by itself."
        )
