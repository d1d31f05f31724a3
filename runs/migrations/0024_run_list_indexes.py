"""Indexes for the orders and filters of the runs table, made while people work."""

from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("runs", "0023_thumbnails_follow"),
    ]

    operations = [
        AddLiveIndex(
            model_name="run",
            index=models.Index(fields=["status", "-created_at", "-id"], name="run_by_status"),
        ),
        AddLiveIndex(
            model_name="run",
            index=models.Index(fields=["has_anomaly", "-created_at", "-id"], name="run_by_anomaly"),
        ),
        AddLiveIndex(
            model_name="run",
            index=models.Index(fields=["n_steps", "-created_at", "-id"], name="run_by_steps"),
        ),
        AddLiveIndex(
            model_name="run",
            index=models.Index(fields=["seconds", "-created_at", "-id"], name="run_by_seconds"),
        ),
        AddLiveIndex(
            model_name="run",
            index=models.Index(fields=["cost", "-created_at", "-id"], name="run_by_cost"),
        ),
        AddLiveIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(
                    ("queued_at__isnull", False), ("lease_token__gt", 0), _connector="OR"
                ),
                fields=["-created_at", "-id"],
                name="run_made_here",
            ),
        ),
        AddLiveIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("ended_at__isnull", False)),
                fields=["created_by", "-ended_at"],
                name="run_ended_of",
            ),
        ),
        AddLiveIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("status", "queued")),
                fields=["status", "lane", "priority", "created_at", "id"],
                name="run_in_lane",
            ),
        ),
        migrations.RemoveIndex(model_name="run", name="run_by_lane"),
    ]
