"""Lists of tasks, sets and work are found in their order by indexes, made while people work."""

import django.db.models.functions.text
from django.db import migrations, models

from runs.models.live_indexes import AddLiveIndex


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("runs", "0030_delete_faultcheck"),
    ]

    operations = [
        AddLiveIndex(
            model_name="act",
            index=models.Index(fields=["user", "kind", "id"], name="acts_by_person_and_kind"),
        ),
        AddLiveIndex(
            model_name="act",
            index=models.Index(fields=["name", "id"], name="acts_by_name"),
        ),
        AddLiveIndex(
            model_name="importjob",
            index=models.Index(
                condition=models.Q(("state", "queued"), ("state", "running"), _connector="OR"),
                fields=["created_by", "created_at"],
                name="importjob_active",
            ),
        ),
        AddLiveIndex(
            model_name="knowledgeset",
            index=models.Index(
                fields=["site", "name", "kind", "-version"], name="knowledge_in_order"
            ),
        ),
        AddLiveIndex(
            model_name="learningjob",
            index=models.Index(
                condition=models.Q(("state", "queued"), ("state", "running"), _connector="OR"),
                fields=["created_by", "created_at"],
                name="learningjob_active",
            ),
        ),
        AddLiveIndex(
            model_name="learningjob",
            index=models.Index(fields=["kind", "-created_at"], name="learning_job_by_kind"),
        ),
        AddLiveIndex(
            model_name="task",
            index=models.Index(
                models.F("task_set"),
                django.db.models.functions.text.Length("external_id"),
                models.F("external_id"),
                models.F("id"),
                name="task_in_order",
            ),
        ),
    ]
