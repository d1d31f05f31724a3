"""Runs of an agent and of a task are read in their order by one index each, instead of three.

Indexes only: no row is written, and nobody waits.
"""

from functools import partial

import django.db.models.deletion
from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex, drop_plain_indexes


def foreign_key(name: str, to: str) -> migrations.AlterField:
    key = models.ForeignKey(
        db_index=False,
        on_delete=django.db.models.deletion.PROTECT,
        related_name="runs",
        to=to,
    )
    return migrations.AlterField("run", name, key)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("runs", "0042_task_split_index")]

    operations = [
        AddLiveIndex(
            "run", models.Index(fields=["agent", "-created_at", "-id"], name="run_by_agent")
        ),
        AddLiveIndex(
            "run", models.Index(fields=["task", "-created_at", "-id", "agent"], name="run_by_task")
        ),
        AddLiveIndex("agentconfiguration", models.Index(fields=["name"], name="agent_by_name")),
        migrations.RemoveIndex("run", "run_by_task_agent"),
        migrations.SeparateDatabaseAndState(
            # Django would make the foreign keys anew, and look at every row for it.
            database_operations=[
                migrations.RunPython(
                    partial(drop_plain_indexes, model="runs.Run", columns=["task_id", "agent_id"]),
                    migrations.RunPython.noop,
                )
            ],
            state_operations=[
                foreign_key("task", "runs.task"),
                foreign_key("agent", "runs.agentconfiguration"),
            ],
        ),
    ]
