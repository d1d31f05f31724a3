"""What the database was asked: the texts of statements, in order, without their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

Statements = tuple[int, int]
"""How many statements were made, and what tells their texts apart from others."""

SAVEPOINT = re.compile(r"[`\"]s\d+_x\d+[`\"]")
"""These are numbered through."""


def told_apart(texts: list[str]) -> Statements:
    return len(texts), hash(tuple(texts))


@contextmanager
def asked_of_database() -> Iterator[list[str]]:
    """The statements inside, as they come."""
    texts: list[str] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        texts.append(SAVEPOINT.sub("", sql))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield texts
