"""Rows into a table as fast as the database takes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection, models
from django.db.models import AutoField

Row = tuple[Any, ...]


class Bulk:
    """A table that takes rows of plain values: by COPY on PostgreSQL, else by `executemany`.

    Ids are hexadecimal, times are text in UTC, JSON is text: both databases read them so. Columns
    that are not named get the model's default, the same in every row.
    """

    def __init__(self, model: type[models.Model], columns: Sequence[str]) -> None:
        fields = [f for f in model._meta.concrete_fields if not f.generated]
        fields = [f for f in fields if f.name in columns or not isinstance(f, AutoField)]
        by_name = {field.name: field for field in fields}
        varying = [by_name.pop(name) for name in columns]
        self._constants = tuple(_default(field) for field in by_name.values())
        names = ", ".join(f'"{field.column}"' for field in (*varying, *by_name.values()))
        places = ", ".join(["%s"] * (len(varying) + len(by_name)))
        table = model._meta.db_table
        self._copy = f"COPY {table} ({names}) FROM STDIN"
        self._insert = f"INSERT INTO {table} ({names}) VALUES ({places})"  # noqa: S608 (our own names)

    def add(self, rows: Iterable[Row]) -> None:
        """Insert the rows; each has the named columns in their order."""
        whole = (row + self._constants for row in rows)
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                with cursor.copy(self._copy) as copy:
                    for row in whole:
                        copy.write_row(row)
            else:
                cursor.executemany(self._insert, list(whole))


def trust_rows() -> None:
    """Have this transaction not look up what each row refers to, where the database lets us.

    Of 15 million steps that takes most of the time; `check_integrity` finds what would be wrong.
    """
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        if cursor.fetchone() == (True,):
            cursor.execute("SET LOCAL session_replication_role = replica")


def _default(field: models.Field[Any, Any]) -> Any:
    value = field.get_default()
    if isinstance(field, models.JSONField):
        return None if value is None else json.dumps(value)
    return field.get_db_prep_save(value, connection)
