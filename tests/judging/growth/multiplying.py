"""A site made many times as large by copying its rows inside the database.

Copies differ from their originals in keys, in what has to be unique, and in when their runs were
made: each copy is as much later as the originals take. What was there at the beginning stays
single, and copies refer to it as their originals do.
"""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, models

from tools.seed_scale.drawing import BETWEEN_RUNS, FIRST_DAY, text_of

Field = Any
APART = ("template", "about_id")
"""Fields that differ in every copy beside those that must: a template has a few tasks, an object a
few entries.
"""
COPIES = "WITH RECURSIVE copies(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < {})"


class Multiplier:
    """Remembers what is there when it is made; all that comes later can be multiplied."""

    def __init__(self) -> None:
        self._models = apps.get_models(include_auto_created=True)
        with connection.cursor() as cursor:
            for model in self._models:
                cursor.execute(
                    f"CREATE TEMPORARY TABLE single_{model._meta.db_table} AS"  # noqa: S608 (our own names)
                    f" SELECT {_pk(model).column} AS id FROM {model._meta.db_table}"
                )

    def multiply(self, times: int, n_runs: int) -> None:
        """Have every row that came since so many times; they belong to so many runs."""
        seconds = n_runs * BETWEEN_RUNS.total_seconds()
        with connection.cursor() as cursor:
            for model in self._models:
                cursor.execute(self._insertion(model, times - 1, seconds))
            for statement in connection.ops.sequence_reset_sql(no_style(), self._models):
                cursor.execute(statement)

    def _insertion(self, model: type[models.Model], copies: int, seconds: float) -> str:
        fields = [field for field in model._meta.concrete_fields if not field.generated]
        columns = ", ".join(f'"{field.column}"' for field in fields)
        values = ", ".join(self._value(model, field, seconds) for field in fields)
        table = model._meta.db_table
        return (
            f"INSERT INTO {table} ({columns}) {COPIES.format(copies)}"  # noqa: S608 (our own names)
            f" SELECT {values} FROM {table} CROSS JOIN copies"
            f" WHERE {_pk(model).column} NOT IN (SELECT id FROM single_{table})"
        )

    def _value(self, model: type[models.Model], field: Field, seconds: float) -> str:
        """What stands in a copy's column."""
        column = f'"{field.column}"'
        if field.primary_key and not field.is_relation:
            return _changed(field)
        if isinstance(field, models.ForeignKey):
            changed = _changed(_pk(field.related_model), column)
            return f"CASE WHEN {self._is_single(field)} THEN {column} ELSE {changed} END"
        if field.unique or field.name in APART:
            return _changed(field)
        if isinstance(field, models.DateTimeField):
            return _later(column, seconds)
        if isinstance(field, models.BooleanField):
            return column
        for others in _unique_with(model, field):
            kept = " AND ".join(self._is_single(key) for key in others) or "TRUE"
            return f"CASE WHEN {kept} THEN {_changed(field)} ELSE {column} END"
        return column

    def _is_single(self, key: Field) -> str:
        """Whether a foreign key leads to what stays single, or nowhere."""
        single = f"single_{key.related_model._meta.db_table}"
        is_in = f'"{key.column}" IN (SELECT id FROM {single})'  # noqa: S608 (our own names)
        return f'("{key.column}" IS NULL OR {is_in})'


def _pk(model: type[models.Model]) -> Field:
    """The key of a model, or of the one whose key it shares."""
    key: Field = model._meta.pk
    return key


def _unique_with(model: type[models.Model], field: Field) -> Iterator[list[Field]]:
    """The foreign keys that the field is unique together with."""
    for constraint in model._meta.constraints:
        if isinstance(constraint, models.UniqueConstraint) and field.name in constraint.fields:
            together = [model._meta.get_field(name) for name in constraint.fields]
            yield [each for each in together if isinstance(each, models.ForeignKey)]


def _changed(field: Field, column: str = "") -> str:
    """A value that no original and no other copy has."""
    column = column or f'"{field.column}"'
    if isinstance(field, models.OneToOneField):
        return _changed(_pk(field.related_model), column)
    is_sqlite = connection.vendor == "sqlite"
    if isinstance(field, models.IntegerField):
        return f"{column} + n * 1000000"
    if isinstance(field, models.DateField):
        return f"date({column}, (n * 1000) || ' days')" if is_sqlite else f"{column} + n * 1000"
    is_hash = field.max_length == 64
    if isinstance(field, models.CharField | models.TextField) and not is_hash:
        return f"{column} || '.' || n"
    if is_sqlite:
        return f"printf('%08x', n) || substr({column}, 9)"
    changed = f"lpad(to_hex(n), 8, '0') || substr({column}::text, 9)"
    return f"({changed})::uuid" if isinstance(field, models.UUIDField) else changed


def _later(column: str, seconds: float) -> str:
    """A time of the runs moved on; all others, such as when a label came, are as they were."""
    if connection.vendor == "sqlite":
        moved = f"strftime('%Y-%m-%d %H:%M:%f', {column}, (n * {seconds}) || ' seconds')"
    else:
        moved = f"{column} + n * interval '{seconds} seconds'"
    end = text_of(FIRST_DAY.replace(month=3))
    return f"CASE WHEN {column} < '{end}' THEN {moved} ELSE {column} END"
