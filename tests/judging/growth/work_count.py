"""How much SQLite works for what it is asked: a count, and no clock.

It tells how many instructions of its virtual machine it carries out, a few for each row that it
looks at. One that it does not see into is a bare `COUNT(*)` of a whole table.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connection

from tests.judging.studies.statements import asked_of_database

INSTRUCTIONS_AT_ONCE = 50
"""SQLite reports whenever it has carried out so many."""


@dataclass
class Work:
    """What a request took; never nothing, so that it can be divided by."""

    n_statements: int = 1
    n_instructions: int = INSTRUCTIONS_AT_ONCE

    def growth_to(self, other: Work) -> float:
        """How many times as much the other is, in whichever has grown more."""
        return max(
            other.n_statements / self.n_statements, other.n_instructions / self.n_instructions
        )

    def __str__(self) -> str:
        return f"{self.n_statements} statements, {self.n_instructions} instructions"


@contextmanager
def counted_work() -> Iterator[Work]:
    """What the database does inside; SQLite only."""
    work = Work()
    reports = 0

    def report() -> int:
        nonlocal reports
        reports += 1
        return 0

    connection.ensure_connection()
    connection.connection.set_progress_handler(report, INSTRUCTIONS_AT_ONCE)
    try:
        with asked_of_database() as texts:
            yield work
    finally:
        connection.connection.set_progress_handler(None, 0)
    work.n_statements = max(len(texts), 1)
    work.n_instructions = max(reports, 1) * INSTRUCTIONS_AT_ONCE
