"""What whoever runs a command on a database is told that `migrate` has not prepared."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import OperationalError, ProgrammingError

SHOWN_AS_IT_IS = ("migrate", "--traceback")
"""Where these stand in a command line, what broke is to be seen: of `migrate` it is the answer."""


@contextmanager
def told_to_migrate(arguments: Sequence[str]) -> Iterator[None]:
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
