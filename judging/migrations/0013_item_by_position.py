"""The runs of a study are read in its order by an index, made while people work."""

from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("judging", "0012_failure_causes")]

    operations = [
        AddLiveIndex(
            model_name="studyitem",
            index=models.Index(fields=["study", "position"], name="item_by_position"),
        ),
    ]
