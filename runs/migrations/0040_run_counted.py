from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("runs", "0039_saved_views"),
    ]

    operations = [
        AddLiveIndex(
            model_name="run",
            index=models.Index(
                fields=["experiment", "superseded", "status", "outcome"], name="run_counted"
            ),
        ),
    ]
