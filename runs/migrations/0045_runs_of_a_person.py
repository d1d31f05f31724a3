"""What a person has under way, and entries about one kind of object, are each read by an index.

Indexes only: no row is written, and nobody waits.
"""

from functools import partial

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex, drop_plain_indexes


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("runs", "0044_task_by_external_id")]

    operations = [
        AddLiveIndex("run", models.Index(fields=["created_by", "status"], name="run_by_creator")),
        AddLiveIndex(
            "auditentry",
            models.Index(fields=["about_kind", "id"], name="acts_by_kind_of_object"),
        ),
        migrations.SeparateDatabaseAndState(
            # Django would make the foreign key anew, and look at every row for it.
            database_operations=[
                migrations.RunPython(
                    partial(drop_plain_indexes, model="runs.Run", columns=["created_by_id"]),
                    migrations.RunPython.noop,
                )
            ],
            state_operations=[
                migrations.AlterField(
                    "run",
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to=settings.AUTH_USER_MODEL,
                    ),
                )
            ],
        ),
    ]
