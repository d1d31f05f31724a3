"""The lookup `among`: `in` for lists that have no end, such as the runs of a large experiment.

A list of `in` takes a parameter for each value, and databases take so many at most: some builds
of SQLite 32,766, PostgreSQL 65,535. Here the whole list is one parameter.
"""

from __future__ import annotations

import json
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.lookups import Lookup
from django.db.models.sql.compiler import SQLCompiler


@models.Field.register_lookup
@models.ForeignKey.register_lookup  # which takes none of those of other fields
class Among(Lookup):
    """Whether a column holds one of the values of a list, set or other iterable."""

    lookup_name = "among"

    def get_prep_lookup(self) -> Any:
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
        """The values as one parameter."""
        field = self.lhs.output_field
        found = [field.get_db_prep_value(value, connection, prepared=True) for value in self.rhs]
        return found if connection.vendor == "postgresql" else json.dumps(found)
