"""Infeasible tasks are found by an index, made while people work."""

from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("runs", "0034_audit_entry_and_pending_deletion")]

    operations = [
        AddLiveIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(("infeasible_reason__gt", "")),
                fields=["original"],
                name="task_infeasible",
            ),
        ),
    ]
