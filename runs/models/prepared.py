"""Queries that are asked again and again: what they are in SQL is worked out once.

Django works a query's SQL out each time it is asked, which takes longer than the database takes
for one row by its key. What is asked with every label is prepared instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.models.query import (
    FlatValuesListIterable,
    ModelIterable,
    ValuesListIterable,
    get_related_populators,
)
from django.db.models.sql.compiler import SQLCompiler

Row = TypeVar("Row")
LARGEST = models.BigIntegerField.MAX_BIGINT


class Given(models.Expression):
    """A value that is named when the query is asked."""

    def __init__(self, name: str, field: models.Field[Any, Any]) -> None:
        super().__init__(output_field=field)
        self.name = name

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, Any]:
        """Itself in the place of the value."""
        return "%s", [self]

    def prepared(self, given: dict[str, Any], database: BaseDatabaseWrapper) -> Any:
        """The value as the database's driver takes it."""
        return self.output_field.get_db_prep_value(given[self.name], database)


class _Number(Given):
    """A whole number, from an address or a form perhaps, where it may have any length."""

    def prepared(self, given: dict[str, Any], database: BaseDatabaseWrapper) -> Any:
        """Nothing where it is one that no column holds, so that no row is found by it."""
        value = given[self.name]
        if value is None or abs(int(value)) > LARGEST:
            return None
        return database.ops.adapt_integerfield_value(int(value), "BigIntegerField")


def number(name: str) -> Given:
    """A key or another whole number."""
    return _Number(name, models.BigIntegerField())


def key(name: str) -> Given:
    """A key that is a UUID."""
    return Given(name, models.UUIDField())


def text(name: str) -> Given:
    """A word or more."""
    return Given(name, models.CharField())


def moment(name: str) -> Given:
    """A point in time."""
    return Given(name, models.DateTimeField())


def truth(name: str) -> Given:
    """Yes or no."""
    return Given(name, models.BooleanField())


def this_database() -> BaseDatabaseWrapper:
    """What `connection` stands for in this thread, which that looks up at every touch."""
    return connections[DEFAULT_DB_ALIAS]


def planned_once(database: BaseDatabaseWrapper, statement: str) -> CursorWrapper:
    """A cursor for this statement, which PostgreSQL reads and plans once a connection.

    Django's own cursors write values into the statement, which is another one each time then.
    It is not to be closed.
    """
    if database.vendor != "postgresql":
        return database.cursor()
    cursor: CursorWrapper = database.planned_cursor(statement)  # type: ignore[attr-defined]
    return cursor


class _Ready(NamedTuple, Generic[Row]):
    sql: str
    params: tuple[Any, ...]
    converters: list[tuple[int, list[Any], Any]]
    """Of the columns whose values are not what the database says: where, how, of what."""
    read: Callable[[Sequence[Any]], Row]

    def converted(self, row: Sequence[Any], database: BaseDatabaseWrapper) -> Sequence[Any]:
        """The row with the values that the columns' fields take."""
        values = list(row)
        for place, converters, column in self.converters:
            for convert in converters:
                values[place] = convert(values[place], column, database)
        return values


class Prepared(Generic[Row]):
    """A query with values left open (`Given`), by what makes it.

    It is worked out for one database when it is first asked; threads share that. It finds rows
    of a model, with what `select_related` adds, or values in a list.
    """

    def __init__(self, make: Callable[[], models.QuerySet[Any, Row]]) -> None:
        self._make = make
        self._ready: _Ready[Row] | None = None

    def all(self, **given: Any) -> list[Row]:
        """What is found with these values."""
        database = this_database()
        ready = self._ready or self._work_out()
        values = [
            each.prepared(given, database) if isinstance(each, Given) else each
            for each in ready.params
        ]
        cursor = planned_once(database, ready.sql)
        cursor.execute(ready.sql, values)
        found: Sequence[Sequence[Any]] = cursor.fetchall()
        if ready.converters:
            found = [ready.converted(row, database) for row in found]
        return [ready.read(row) for row in found]

    def first(self, **given: Any) -> Row | None:
        """The first that is found, if any."""
        return next(iter(self.all(**given)), None)

    def _work_out(self) -> _Ready[Row]:
        queryset = self._make()
        compiler = queryset.query.get_compiler(connection=connection)
        sql, params = compiler.as_sql()
        selected = compiler.select[: compiler.col_count]
        converters = compiler.get_converters([column for column, *_ in selected])
        self._ready = _Ready(
            sql,
            tuple(params),
            [(place, *convert) for place, convert in converters.items()],
            _READERS[queryset._iterable_class](compiler),
        )
        return self._ready


def _row_of(compiler: SQLCompiler) -> Callable[[Sequence[Any]], Any]:
    """Makes a row of the model out of what the database says, as a queryset does."""
    facts: Any = compiler.klass_info
    model, places = facts["model"], facts["select_fields"]
    start, end = places[0], places[-1] + 1
    names = [column.target.attname for column, *_ in compiler.select[start:end]]
    related = get_related_populators(facts, compiler.select, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]

    def read(values: Sequence[Any]) -> Any:
        row = model.from_db(DEFAULT_DB_ALIAS, names, values[start:end])
        for each in related:
            each.populate(values, row)
        return row

    return read


_READERS: dict[type, Callable[[SQLCompiler], Callable[[Sequence[Any]], Any]]] = {
    ModelIterable: _row_of,
    ValuesListIterable: lambda _: tuple,
    FlatValuesListIterable: lambda _: itemgetter(0),
}
