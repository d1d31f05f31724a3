"""Tasks of an id are found by an index, and their runs by these tasks: SQLite reads all otherwise."""

from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("runs", "0043_runs_of_agent_and_task")]

    operations = [
        AddLiveIndex("task", models.Index(fields=["external_id"], name="task_by_external_id")),
    ]
