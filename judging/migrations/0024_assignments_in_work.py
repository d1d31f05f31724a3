"""The few assignments that people have in work are found without all that were ever made."""

from django.conf import settings
from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("judging", "0023_label_imports_with_stubs"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        AddLiveIndex(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("state", "leased")),
                fields=["leased_until"],
                name="assignment_in_work",
            ),
        ),
    ]
