"""Goals are found by any part of them: on PostgreSQL by trigrams, where it lets us have them."""

from django.apps.registry import Apps
from django.db import DatabaseError, migrations, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

INDEX = "run_goal_words"


def add_index(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """The extension is trusted, but its files may be missing: searching works without, slower."""
    if schema_editor.connection.vendor != "postgresql":
        return
    try:
        with transaction.atomic(using=schema_editor.connection.alias):
            schema_editor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    except DatabaseError:
        return
    schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {INDEX}")
    # As Django writes `icontains`.
    schema_editor.execute(
        f"CREATE INDEX CONCURRENTLY {INDEX} ON runs_run USING gin (UPPER(goal) gin_trgm_ops)"
    )


def remove_index(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {INDEX}")


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("runs", "0024_run_list_indexes")]

    operations = [migrations.RunPython(add_index, remove_index)]
