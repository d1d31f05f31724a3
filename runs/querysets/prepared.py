"""Queries that are asked again and again: what they are in SQL is worked out once.

Django works a query's SQL out each time it is asked, which takes longer than the database takes
for one row by its key. What is asked with every label is prepared instead.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import connection, models
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row")


class Given(models.Expression):
    """A value that is named when the query is asked."""

    def __init__(self, name: str, field: models.Field[Any, Any]) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, Any]:
        """Itself in the place of the value."""
        return "%s", [self]

    def prepared(self, given: dict[str, Any]) -> Any:
        """The value as the database's driver takes it."""
        return self.output_field.get_db_prep_value(given[self.name], connection)


def number(name: str) -> Given:
    """A key or another whole number."""
    return Given(name, models.BigIntegerField())


def key(name: str) -> Given:
    """A key that is a UUID."""
    return Given(name, models.UUIDField())


def truth(name: str) -> Given:
    """Yes or no."""
    return Given(name, models.BooleanField())


class _Ready(NamedTuple, Generic[Row]):
    queryset: models.QuerySet[Any, Row]
    compiler: SQLCompiler
    sql: str
    params: tuple[Any, ...]
    converters: dict[int, Any]


class Prepared(Generic[Row]):
    """A query with values left open (`Given`), by what makes it.

    It is worked out for one database when it is first asked; threads share that.
    """

    def __init__(self, make: Callable[[], models.QuerySet[Any, Row]]) -> None:
        self._make = make
        self._ready: _Ready[Row] | None = None

    def all(self, **given: Any) -> list[Row]:
        """What is found with these values."""
        ready = self._ready or self._work_out()
        values = tuple(
            each.prepared(given) if isinstance(each, Given) else each for each in ready.params
        )
        asked = copy.copy(ready.compiler)
        asked.connection = connection
        asked.as_sql = lambda *_, **__: (ready.sql, values)  # type: ignore[method-assign]
        asked.get_converters = lambda _: ready.converters  # type: ignore[method-assign, assignment]
        rows = ready.queryset.all()
        rows.query.get_compiler = lambda *_, **__: asked  # type: ignore[method-assign]
        return list(rows)

    def first(self, **given: Any) -> Row | None:
        """The first that is found, if any."""
        return next(iter(self.all(**given)), None)

    def _work_out(self) -> _Ready[Row]:
        queryset = self._make()
        compiler = queryset.query.get_compiler(connection=connection)
        sql, params = compiler.as_sql()
        selected = compiler.select[: compiler.col_count]
        converters = compiler.get_converters([column for column, *_ in selected])
        self._ready = _Ready(queryset, compiler, sql, tuple(params), converters)
        return self._ready
