"""Work in progress and imports of labels are found by indexes, made while people work."""

from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("judging", "0019_newest_first"),
    ]

    operations = [
        AddLiveIndex(
            model_name="evaluationbatch",
            index=models.Index(
                condition=models.Q(("state", "queued"), ("state", "running"), _connector="OR"),
                fields=["created_by", "created_at"],
                name="evaluationbatch_active",
            ),
        ),
        AddLiveIndex(
            model_name="labelimport",
            index=models.Index(
                condition=models.Q(("state", "queued"), ("state", "running"), _connector="OR"),
                fields=["created_by", "created_at"],
                name="labelimport_active",
            ),
        ),
        AddLiveIndex(
            model_name="labelimport",
            index=models.Index(fields=["created_by", "-created_at"], name="label_import_newest"),
        ),
        AddLiveIndex(
            model_name="studydownload",
            index=models.Index(
                condition=models.Q(("state", "queued"), ("state", "running"), _connector="OR"),
                fields=["created_by", "created_at"],
                name="studydownload_active",
            ),
        ),
    ]
