"""The lookup `among`: `in` for lists that have no end, such as the runs of a large experiment.

A list of `in` takes a parameter for each value, and databases take so many at most: some builds
of SQLite 32,766, PostgreSQL 65,535. Here the whole list is one parameter.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.lookups import Lookup
from django.db.models.sql.compiler import SQLCompiler

from runs.models.prepared import Given


@models.Field.register_lookup
@models.ForeignKey.register_lookup  # which takes none of those of other fields
class Among(Lookup):
    """Whether a column holds one of the values of a list, set or other iterable.

    Of a query that is prepared, it is one that is named when the query is asked: `several`.
    """

    lookup_name = "among"

    def get_prep_lookup(self) -> Any:
        if isinstance(self.rhs, Given):
            return self.rhs
        field = self.lhs.output_field
        return [field.get_prep_value(value) for value in self.rhs]

    def as_sql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, tuple[Any, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} = ANY(%s)", (*parameters, self._values(connection))

    def as_sqlite(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper
    ) -> tuple[str, tuple[Any, ...]]:
        column, parameters = self.process_lhs(compiler, connection)
        listed = "(SELECT value FROM json_each(%s))"
        return f"{column} IN {listed}", (*parameters, self._values(connection))

    def _values(self, connection: BaseDatabaseWrapper) -> Any:
        if isinstance(self.rhs, Given):
            return self.rhs
        return _as_one(self.rhs, self.lhs.output_field, connection)


class _Several(Given):
    def prepared(self, given: dict[str, Any], database: BaseDatabaseWrapper) -> Any:
        field = self.output_field
        return _as_one(map(field.get_prep_value, given[self.name]), field, database)


def several(name: str, field: models.Field[Any, Any]) -> Given:
    """Values for the lookup `among`, of the field's kind."""
    return _Several(name, field)


def _as_one(
    values: Iterable[Any], field: models.Field[Any, Any], connection: BaseDatabaseWrapper
) -> Any:
    """The values as one parameter."""
    found = [field.get_db_prep_value(value, connection, prepared=True) for value in values]
    return found if connection.vendor == "postgresql" else json.dumps(found)
