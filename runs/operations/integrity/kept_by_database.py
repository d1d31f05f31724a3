"""What the database itself keeps: its unique constraints, and the guards of what never changes."""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps
from django.db import connection, models

from runs.models.immutability import missing_guards
from runs.operations.integrity.contract import Violation


def missing_constraints() -> Iterator[Violation]:
    """Constraints of our models and guards that the database has lost, as by a partial restore.

    While they are there no row can break them, so that the rows need not be looked at.
    """
    with connection.cursor() as cursor:
        for model in apps.get_models():
            if model._meta.label.partition(".")[0] not in ("runs", "judging"):
                continue
            found = connection.introspection.get_constraints(cursor, model._meta.db_table)
            for name in sorted(_named(model) - found.keys()):
                yield Violation(model._meta.label, name, "the database has lost this constraint")
            unique = {
                tuple(c["columns"]) for c in found.values() if c["unique"] or c["primary_key"]
            }
            for column in sorted(_unique_columns(model)):
                if (column,) not in unique:
                    yield Violation(model._meta.label, column, "the database lets it repeat")
    for name in missing_guards():
        yield Violation("database", name, "the trigger that guards what never changes is gone")


def _named(model: type[models.Model]) -> set[str]:
    return {str(constraint.name) for constraint in model._meta.constraints}


def _unique_columns(model: type[models.Model]) -> set[str]:
    return {str(field.column) for field in model._meta.local_concrete_fields if field.unique}
