"""Items of studies keep their runs' age.

The older code stores none; `judging.studies.integrity` fills it in after every `migrate`.
"""

from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("judging", "0026_label_seen")]

    operations = [
        migrations.AddField(
            "studyitem",
            "run_created_at",
            models.DateTimeField(editable=False, null=True),
        ),
        AddLiveIndex(
            "studyitem",
            models.Index(
                fields=["study", "-run_created_at", "-run"],
                name="item_by_age_of_run",
                condition=~models.Q(status="open"),
            ),
        ),
        AddLiveIndex(
            "studyitem",
            models.Index(
                fields=["study"],
                name="item_without_age",
                condition=models.Q(run_created_at=None),
            ),
        ),
    ]
