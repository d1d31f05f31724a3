"""Goals are ordered by an index, made while people work."""

from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex
from runs.models.runs.queries import GoalStart


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("runs", "0026_kept_uploads")]

    operations = [
        AddLiveIndex(
            model_name="run",
            index=models.Index(
                GoalStart("goal"),
                models.F("created_at").desc(),
                models.F("id").desc(),
                name="run_by_goal",
            ),
        ),
    ]
