"""What the database was asked, and what it replies to the same once more."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from sys import intern
from typing import Any, NamedTuple

from django.db import DatabaseError, connection, transaction

Statements = tuple[int, int]
"""How many statements were made, and what tells their texts apart from others."""

SAVEPOINT = re.compile(r"(SAVEPOINT )[`\"]s\d+_x\d+[`\"]")
"""These are numbered through."""
COUNTING = 'UPDATE "runs_apitoken" SET "counted"'
"""How often a token was used is written down now and then."""


class Statement(NamedTuple):
    """As it was sent; its values are a list of such where it is sent for many."""

    text: str
    values: Any
    is_for_many: bool


def told_apart(statements: Iterable[Statement]) -> Statements:
    """What was asked, in order, without values."""
    texts = [SAVEPOINT.sub(r"\1", each.text) for each in statements if COUNTING not in each.text]
    return len(texts), hash(tuple(texts))


@contextmanager
def asked_of_database() -> Iterator[list[Statement]]:
    """The statements inside, as they come."""
    statements: list[Statement] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        statements.append(Statement(intern(sql), params, many))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield statements


def replies_to(statements: Iterable[Statement]) -> bytes | None:
    """What tells all rows that the statements find now apart from others; None if one fails.

    Nothing that they write stays.
    """
    found = hashlib.sha256()
    try:
        with undone(), connection.cursor() as cursor:
            for each in statements:
                send = cursor.executemany if each.is_for_many else cursor.execute
                send(each.text, each.values)
                rows = cursor.fetchall() if cursor.description else cursor.rowcount
                found.update(repr(rows).encode())
    except DatabaseError:
        return None
    return found.digest()


@contextmanager
def undone() -> Iterator[None]:
    """Whatever happens inside leaves nothing behind."""
    with transaction.atomic():
        before = _rows_written()
        yield
        # Of what only read nothing is taken back: SQLite would read its schema anew.
        transaction.set_rollback(before is None or before != _rows_written())


def _rows_written() -> int | None:
    """Rows that this connection has written so far; None where the database does not say."""
    if connection.vendor != "sqlite":
        return None
    connection.ensure_connection()
    return int(connection.connection.total_changes)
