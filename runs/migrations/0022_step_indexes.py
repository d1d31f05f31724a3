"""Steps are found by run and by file through one index each, of what is there.

Indexes only: no row is read or written, and nobody waits meanwhile.
"""

from functools import partial

import django.db.models.deletion
from django.db import migrations, models

from runs.models.live_indexes import (AddLiveIndex, drop_plain_indexes)

BLOBS = ("screenshot", "marked_screenshot", "after_screenshot", "tree", "after_tree")


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("runs", "0021_fault_checks")]

    operations = [
        *(
            AddLiveIndex(
                "step",
                models.Index(
                    fields=[name],
                    name=f"step_by_{name}",
                    condition=models.Q(**{f"{name}__isnull": False}),
                ),
            )
            for name in BLOBS
        ),
        migrations.SeparateDatabaseAndState(
            # Django would make the foreign keys anew, and look at every row for it.
            database_operations=[
                migrations.RunPython(
                    partial(
                        drop_plain_indexes,
                        model="runs.Step",
                        columns=["run_id", *(f"{name}_id" for name in BLOBS)],
                    ),
                    migrations.RunPython.noop,
                )
            ],
            state_operations=[
                migrations.AlterField(
                    "step",
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="steps",
                        to="runs.run",
                    ),
                ),
                *(
                    migrations.AlterField(
                        "step",
                        name,
                        models.ForeignKey(
                            db_index=False,
                            null=True,
                            on_delete=django.db.models.deletion.PROTECT,
                            related_name="+",
                            to="runs.blob",
                        ),
                    )
                    for name in BLOBS
                ),
            ],
        ),
    ]
