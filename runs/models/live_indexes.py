"""Indexes that come and go while people work: operations for migrations with `atomic = False`."""

from collections.abc import Iterable
from typing import Any

from django.apps.registry import Apps
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import AddIndex
from django.db.migrations.state import ProjectState
from django.db.models import Model


class AddLiveIndex(AddIndex):
    """Make an index without locking its table out: CONCURRENTLY on PostgreSQL.

    It can be run again after it was stopped; what it left half-made is taken away first.
    """

    atomic = False

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model: type[Model] = to_state.apps.get_model(app_label, self.model_name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            _drop(schema_editor, self.index.name)
            concurrent: Any = schema_editor  # PostgreSQL's takes one argument more
            concurrent.add_index(model, self.index, concurrently=True)


def drop_plain_indexes(
    apps: Apps, schema_editor: BaseDatabaseSchemaEditor, model: str, columns: Iterable[str]
) -> None:
    """Drop indexes of one column each that a foreign key brought with it, patterns' ones too.

    Those that have a name of their own (`Meta.indexes`) and constraints stay.
    """
    table = apps.get_model(model)._meta.db_table
    with schema_editor.connection.cursor() as cursor:
        found = schema_editor.connection.introspection.get_constraints(cursor, table)
    for name, facts in found.items():
        comes_by_itself = facts["index"] and not facts["unique"] and name.startswith(f"{table}_")
        if comes_by_itself and len(facts["columns"]) == 1 and facts["columns"][0] in columns:
            _drop(schema_editor, name)


def _drop(schema_editor: BaseDatabaseSchemaEditor, name: str) -> None:
    how = "CONCURRENTLY " if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(
        f"DROP INDEX {how}IF EXISTS {schema_editor.connection.ops.quote_name(name)}"
    )
