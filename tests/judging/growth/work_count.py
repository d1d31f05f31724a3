"""How much a database works for what it is asked: a count, and no clock.

SQLite says how many instructions of its virtual machine it carries out, a few for each row that it
looks at; it does not say it of a bare `COUNT(*)` of a whole table. PostgreSQL says how many rows it
reads from tables and entries from indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import connection

from tests.judging.studies.statements import Statement, asked_of_database

INSTRUCTIONS_AT_ONCE = 10
"""SQLite reports whenever a statement has carried out so many; what is left at its end is lost."""
FEW_INSTRUCTIONS = 1_000
"""Fewer are taken for so many: one row more or less tells nothing."""
FEW_ROWS = 1_000
"""Fewer rows that PostgreSQL reads are taken for so many: of a small table it rather reads all."""
ROWS_READ = """
    SELECT SUM(pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid))
    FROM pg_class WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace
"""
"""Since the transaction began."""


@dataclass
class Work:
    """What a request took; never nothing, so that it can be divided by."""

    n_steps: int = 1
    """Instructions of SQLite, or rows that PostgreSQL read."""
    statements: list[Statement] = field(default_factory=list)

    @property
    def n_statements(self) -> int:
        return max(len(self.statements), 1)

    def growth_to(self, other: Work) -> float:
        """How many times as much the other is, in whichever has grown more."""
        return max(other.n_statements / self.n_statements, other.n_steps / self.n_steps)

    def __str__(self) -> str:
        what = "instructions" if connection.vendor == "sqlite" else "rows"
        return f"{self.n_statements} statements, {self.n_steps} {what}"


@contextmanager
def counted_work() -> Iterator[Work]:
    """What the database does inside; on PostgreSQL inside one transaction."""
    work = Work()
    connection.ensure_connection()
    count = _instructions if connection.vendor == "sqlite" else _rows
    with count() as so_far, asked_of_database() as work.statements:
        yield work
        work.n_steps = so_far()


@contextmanager
def _instructions() -> Iterator[Callable[[], int]]:
    reports = 0

    def report() -> int:
        nonlocal reports
        reports += 1
        return 0

    # After a write that was undone SQLite reads the schema anew, at some time: now.
    connection.introspection.table_names()
    connection.connection.set_progress_handler(report, INSTRUCTIONS_AT_ONCE)
    try:
        yield lambda: max(reports * INSTRUCTIONS_AT_ONCE, FEW_INSTRUCTIONS)
    finally:
        connection.connection.set_progress_handler(None, 0)


@contextmanager
def _rows() -> Iterator[Callable[[], int]]:
    before = _rows_read()
    yield lambda: max(_rows_read() - before, FEW_ROWS)


def _rows_read() -> int:
    with connection.cursor() as cursor:
        cursor.execute(ROWS_READ)
        return int(cursor.fetchone()[0])
