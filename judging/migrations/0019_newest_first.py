"""Studies, batches and verdicts are found newest first by indexes, made while people work."""

from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("judging", "0018_label_imports"), ("runs", "0029_newest_first")]

    operations = [
        AddLiveIndex(
            model_name="evaluationbatch",
            index=models.Index(fields=["-created_at", "-id"], name="batch_newest"),
        ),
        AddLiveIndex(
            model_name="referenceverdict",
            index=models.Index(fields=["-decided_at", "-id"], name="verdict_newest"),
        ),
        AddLiveIndex(
            model_name="study",
            index=models.Index(fields=["-created_at", "-id"], name="study_newest"),
        ),
        AddLiveIndex(
            model_name="study",
            index=models.Index(fields=["-is_open", "-created_at", "-id"], name="study_open_first"),
        ),
    ]
