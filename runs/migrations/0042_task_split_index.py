from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("runs", "0041_task_split")]

    operations = [
        AddLiveIndex(
            model_name="task",
            index=models.Index(
                fields=["split"], condition=models.Q(split__gt=""), name="task_split"
            ),
        ),
    ]
