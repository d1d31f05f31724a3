from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("judging", "0027_items_by_age_of_run")]

    operations = [
        AddLiveIndex(
            "evaluation",
            models.Index(
                fields=["run", "reason", "evaluator", "verdict"],
                name="evaluation_reasons",
                condition=models.Q(is_current=True, reason__gt=""),
            ),
        ),
    ]
