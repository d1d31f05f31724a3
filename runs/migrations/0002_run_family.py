"""Runs know the first run of those that repeat one another."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def find_families(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Follow the links of the runs that are here to the first run of each chain."""
    runs = apps.get_model("runs", "Run").objects.using(schema_editor.connection.alias)
    linked = runs.exclude(rerun_of=None, retry_of=None)
    earlier = {
        pk: retried or rerun
        for pk, retried, rerun in linked.values_list("pk", "retry_of", "rerun_of")
    }
    for pk in earlier:
        root, seen = pk, set()
        while root in earlier and root not in seen:
            seen.add(root)
            root = earlier[root]
        if root != pk:
            runs.filter(pk=pk).update(family=root)


class Migration(migrations.Migration):
    dependencies = [("runs", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="family",
            field=models.UUIDField(blank=True, db_index=True, editable=False, null=True),
        ),
        migrations.RunPython(find_families, migrations.RunPython.noop, elidable=True),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("rerun_of", None), ("retry_of", None))
                | models.Q(("family__isnull", False)),
                name="a_repeat_has_a_family",
            ),
        ),
    ]
