"""Tasks of a kind, words of tasks and archived runs are found by indexes, made while people work."""

import django.db.models.functions.text
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from runs.models.live_indexes import AddLiveIndex

WORDS = "task_words"


def add_words(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Where PostgreSQL has the extension that migration 0025 asks for."""
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm'")
        if not cursor.fetchall():
            return
    schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {WORDS}")
    # As Django writes `icontains`.
    schema_editor.execute(
        f"CREATE INDEX CONCURRENTLY {WORDS} ON runs_task"
        " USING gin (UPPER(goal) gin_trgm_ops, UPPER(external_id) gin_trgm_ops)"
    )


def remove_words(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {WORDS}")


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("runs", "0031_lists_in_order")]

    operations = [
        AddLiveIndex(
            model_name="task",
            index=models.Index(
                models.F("evaluation_kind"),
                models.F("task_set"),
                django.db.models.functions.text.Length("external_id"),
                models.F("external_id"),
                name="task_by_kind",
            ),
        ),
        AddLiveIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("archived_at__isnull", False)),
                fields=["-created_at", "-id"],
                name="run_archived",
            ),
        ),
        migrations.RunPython(add_words, remove_words),
    ]
