"""Pictures may wait for their thumbnails: a column with a default and an index over nothing yet.

Old code goes on beside it: the database fills the column in.
"""

from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("runs", "0022_step_indexes")]

    operations = [
        migrations.AddField(
            "blob",
            "awaits_thumbnail",
            models.BooleanField(db_default=False, default=False),
        ),
        AddLiveIndex(
            "blob",
            models.Index(
                "sha256",
                condition=models.Q(awaits_thumbnail=True),
                name="blob_awaits_thumbnail",
            ),
        ),
    ]
