"""Disputes that wait are found by an index, made while people work."""

from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("judging", "0020_lists_in_order")]

    operations = [
        AddLiveIndex(
            model_name="studyitem",
            index=models.Index(
                condition=models.Q(("status", "disputed")),
                fields=["study"],
                name="item_in_dispute",
            ),
        ),
    ]
