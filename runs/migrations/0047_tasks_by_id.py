"""Tasks of all sets by their ids as people count them."""

from django.db import migrations, models
from django.db.models import F
from django.db.models.functions import Length

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("runs", "0046_views_of_lists")]

    operations = [
        AddLiveIndex(
            "task",
            models.Index(Length("external_id"), F("external_id"), F("id"), name="task_by_id"),
        ),
    ]
