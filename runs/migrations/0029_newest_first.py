"""Experiments, and the runs of a policy, are found newest first by indexes, made while people work."""

from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("runs", "0028_worker_room")]

    operations = [
        AddLiveIndex(
            model_name="experiment",
            index=models.Index(fields=["-created_at", "-id"], name="experiment_newest"),
        ),
        AddLiveIndex(
            model_name="run",
            index=models.Index(
                fields=["policy", "-created_at", "-id"],
                name="run_by_policy",
                condition=models.Q(policy__isnull=False),
            ),
        ),
    ]
