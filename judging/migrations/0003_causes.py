import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0002_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="CauseTag",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("evaluator_name", models.CharField(max_length=100)),
                (
                    "error",
                    models.CharField(
                        choices=[("fn", "false negative"), ("fp", "false positive")], max_length=2
                    ),
                ),
                ("causes", models.JSONField(default=list)),
                (
                    "repair",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("task_data", "task data"),
                            ("evaluation_logic", "evaluation logic"),
                            ("neither", "neither"),
                        ],
                        max_length=20,
                    ),
                ),
                ("note", models.TextField(blank=True)),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("batch", models.UUIDField(db_index=True, default=uuid.uuid4)),
                ("is_undo", models.BooleanField(default=False)),
                ("is_current", models.BooleanField(default=True)),
                (
                    "by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="cause_tags",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "evaluator",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="cause_tags",
                        to="judging.evaluatorversion",
                    ),
                ),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="cause_tags",
                        to="judging.studyitem",
                    ),
                ),
                (
                    "replaces",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="replaced_by",
                        to="judging.causetag",
                    ),
                ),
            ],
            options={
                "verbose_name": "cause of an error",
                "ordering": ["item", "at", "id"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("is_current", True)),
                        fields=("item", "evaluator_name", "error"),
                        name="one_current_cause_tag",
                    )
                ],
            },
        ),
    ]
