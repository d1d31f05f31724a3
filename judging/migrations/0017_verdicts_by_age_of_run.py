"""Reference verdicts keep their runs' age, and are read in its order.

The older code stores none; `judging.studies.disputes.services` fills it in after every `migrate`.
"""

from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("judging", "0016_all_annotators_agreed")]

    operations = [
        migrations.AddField(
            "referenceverdict",
            "run_created_at",
            models.DateTimeField(editable=False, null=True),
        ),
        AddLiveIndex(
            "referenceverdict",
            models.Index(
                fields=["-run_created_at", "-run", "verdict"],
                name="verdict_by_age_of_run",
                condition=models.Q(is_authoritative=True),
            ),
        ),
        AddLiveIndex(
            "referenceverdict",
            models.Index(
                fields=["run_created_at"],
                name="verdict_without_age",
                condition=models.Q(is_authoritative=True, run_created_at=None),
            ),
        ),
    ]
