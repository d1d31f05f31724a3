"""Several rows written at once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from types import NoneType
from typing import Any

from django.db import connection, models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from runs.models.prepared import planned_once, this_database


class SpelledJson(str):
    """A JSON text as a column takes it, for a row that is only written."""


_WRITTEN_AS_IS: dict[type, type] = {
    models.BooleanField: bool,
    models.CharField: str,
    models.FloatField: float,
    models.JSONField: SpelledJson,
    models.TextField: str,
}
"""Fields that hand values of this very type to the driver as they are; half of what is written."""
_Column = tuple[str, frozenset[type], Any]
"""The row's attribute, the types of values that are written as they are, and the field."""


def insert_all(rows: Iterable[models.Model], *, ignore_conflicts: bool = False) -> None:
    """Insert rows of one model, in their order, as `bulk_create` does, with less ado.

    Keys that the database gives are not read back. All go in, or none.

    Args:
        ignore_conflicts: a row that is there already stays as it is.
    """
    given = list(rows)
    if given:
        # A row may name one that comes after it.
        with transaction.atomic(savepoint=False):
            _insert(given, ignore_conflicts=ignore_conflicts)


def _insert(given: list[models.Model], *, ignore_conflicts: bool) -> None:
    database = this_database()
    model, has_key = type(given[0]), given[0].pk is not None
    statement, fields = _insertion(model, has_key)
    values: list[list[Any]] = [_values_of(row, fields, database, is_new=True) for row in given]
    unless = " ON CONFLICT DO NOTHING" if ignore_conflicts else ""
    if database.vendor != "postgresql":
        with database.cursor() as cursor:
            cursor.executemany(statement + unless, values)
    elif len(values) == 1:
        planned_once(database, statement + unless).execute(statement + unless, values[0])
    elif ignore_conflicts:
        together = _together(model, has_key) + unless
        columns = [list(column) for column in zip(*values, strict=True)]
        planned_once(database, together).execute(together, columns)
    else:
        with database.copying_cursor() as cursor:  # type: ignore[attr-defined]
            cursor.executemany(_copying(model, has_key), values)


class RowWrites:
    """Rows to insert and to change, none of them twice.

    PostgreSQL takes all of it as one statement, planned once, so that locks are held for as long
    as one takes instead of many. Rows go as `Model.save` writes them, but for signals.
    """

    def __init__(self) -> None:
        self._database = this_database()
        self._statements: list[str] = []
        self._values: list[list[Any]] = []

    def insert(self, row: models.Model) -> None:
        """A new row. A key that the database gives is not read back."""
        statement, fields = _insertion(type(row), row.pk is not None)
        self._add(statement, _values_of(row, fields, self._database, is_new=True))

    def update(self, row: models.Model, *names: str) -> None:
        """These fields of a row that is there."""
        statement, fields = _change(type(row), names)
        self._add(statement, _values_of(row, fields, self._database, is_new=False))

    def _add(self, statement: str, values: list[Any]) -> None:
        self._statements.append(statement)
        self._values.append(values)

    def send(self) -> None:
        """Write them. Call it inside the transaction that they belong to."""
        if self._database.vendor == "postgresql":
            statement = _as_one(tuple(self._statements))
            planned_once(self._database, statement).execute(statement, sum(self._values, []))
            return
        with self._database.cursor() as cursor:
            for statement, values in zip(self._statements, self._values, strict=True):
                cursor.execute(statement, values)


def _values_of(
    row: models.Model, fields: list[_Column], database: BaseDatabaseWrapper, *, is_new: bool
) -> list[Any]:
    return [
        value
        if type(value := getattr(row, attribute)) in as_is
        else field.get_db_prep_save(field.pre_save(row, is_new), database)
        for attribute, as_is, field in fields
    ]


@cache
def _as_one(statements: tuple[str, ...]) -> str:
    *others, last = statements
    if not others:
        return last
    parts = ", ".join(f"part_{number} AS ({each})" for number, each in enumerate(others))
    return f"WITH {parts} {last}"


@cache
def _insertion(model: type[models.Model], has_key: bool) -> tuple[str, list[_Column]]:
    table, fields = _table(model, has_key)
    places = ", ".join(["%s"] * len(fields))
    statement = f"INSERT INTO {table} VALUES ({places})"  # noqa: S608 (our own names)
    return statement, _columns(fields)


@cache
def _together(model: type[models.Model], has_key: bool) -> str:
    """Of as many rows as there are, given as one list for each column. For PostgreSQL."""
    table, fields = _table(model, has_key)
    lists = ", ".join(f"%s::{field.rel_db_type(connection)}[]" for field in fields)
    return f"INSERT INTO {table} SELECT * FROM UNNEST({lists})"  # noqa: S608 (our own names)


@cache
def _copying(model: type[models.Model], has_key: bool) -> str:
    return f"COPY {_table(model, has_key)[0]} FROM STDIN"


def _table(model: type[models.Model], has_key: bool) -> tuple[str, list[Any]]:
    """A table with the columns that are written, and their fields."""
    known = [each for each in model._meta.concrete_fields if not each.generated]
    fields = [each for each in known if has_key or not each.primary_key]
    columns = ", ".join(_quoted(field.column) for field in fields)
    return f"{_quoted(model._meta.db_table)} ({columns})", fields


@cache
def _change(model: type[models.Model], names: tuple[str, ...]) -> tuple[str, list[_Column]]:
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    changes = ", ".join(f"{_quoted(field.column)} = %s" for field in fields)
    table, key = _quoted(model._meta.db_table), _quoted(model._meta.pk.column)
    statement = f"UPDATE {table} SET {changes} WHERE {key} = %s"  # noqa: S608 (our own names)
    return statement, _columns([*fields, model._meta.pk])


def _columns(fields: list[Any]) -> list[_Column]:
    return [(field.attname, _as_they_are(field), field) for field in fields]


def _as_they_are(field: Any) -> frozenset[type]:
    if isinstance(field, models.ForeignKey):
        return _as_they_are(field.target_field)
    # One that sets itself, as the time of creation does, has no value before.
    as_is = {NoneType} if type(field).pre_save is models.Field.pre_save else set()
    return frozenset(
        as_is | {_WRITTEN_AS_IS[type(field)]} if type(field) in _WRITTEN_AS_IS else as_is
    )


def _quoted(name: str | None) -> str:
    assert name  # noqa: S101 (a field that has a column has its name)
    return connection.ops.quote_name(name)
