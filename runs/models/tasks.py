"""Tasks and the versioned sets they come in."""

from django.db import models
from django.db.models import F
from django.db.models.functions import Length
from django.utils.translation import gettext_lazy as _

from runs.models.task_queries import TaskQuerySet


class TaskSet(models.Model):
    """A named, versioned collection of tasks, such as `webarena` `raw`."""

    name = models.CharField(max_length=200)
    version = models.CharField(max_length=200)
    parent = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="children"
    )
    """The version that a patch turned into this one."""
    patch = models.JSONField(default=dict)
    """Head of that patch: name, version, author, licence, about; empty without a parent."""
    patch_hash = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="one_task_set_version"),
        ]
        verbose_name = _("task set")

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class Task(models.Model):
    """One instruction with its start and its evaluation specification.

    `spec` is the benchmark's own evaluation, verbatim; it and `reference` hold the expected
    answer and are never shown to a person who is blind on one of the task's runs.
    """

    task_set = models.ForeignKey(TaskSet, models.PROTECT, related_name="tasks")
    external_id = models.CharField(max_length=200)
    site = models.CharField(max_length=200, blank=True, db_index=True)
    sites = models.JSONField(default=list)
    goal = models.TextField(blank=True)
    start_urls = models.JSONField(default=list)
    intent_template = models.TextField(blank=True)
    spec = models.JSONField(null=True, blank=True)
    reference = models.JSONField(null=True, blank=True)
    template = models.CharField(max_length=200, blank=True, db_index=True)
    """The benchmark's own id of the template that the task was made from."""
    evaluation_kind = models.CharField(max_length=200, blank=True, db_index=True)
    """Names of the evaluations that `spec` asks for, joined by +, such as url_match+program_html.

    As hidden as `spec`: it hints at the expected outcome.
    """
    original = models.ForeignKey(
        "self", models.PROTECT, null=True, blank=True, related_name="versions"
    )
    """The same task in the version that a patch turned into this one, changed or not."""
    max_steps = models.PositiveIntegerField(null=True, blank=True)
    infeasible_reason = models.TextField(blank=True)
    record = models.JSONField(default=dict)
    """The task as it came in, so that it can go out again without loss."""

    objects = TaskQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task_set", "external_id"], name="one_task_per_set"),
        ]
        indexes = [
            # The order of the tasks table, set by set.
            models.Index(
                F("task_set"),
                Length("external_id"),
                F("external_id"),
                F("id"),
                name="task_in_order",
            ),
        ]
        ordering = ["task_set", "external_id"]
        verbose_name = _("task")

    def __str__(self) -> str:
        return self.external_id


class TaskRevision(models.Model):
    """What a patch changed in one task, and why. Hidden like the task's specification."""

    class Category(models.TextChoices):
        OUTPUT_FORMAT = "output_format", _("output format stated")
        CONTRADICTION = "contradiction", _("contradiction resolved")
        REFERENCE = "reference", _("reference corrected")
        AMBIGUITY = "ambiguity", _("ambiguity clarified")
        AUTHENTICATION_ORDER = "authentication_order", _("order of log-ins")
        INFEASIBLE = "infeasible", _("infeasible")

    task = models.OneToOneField(Task, models.CASCADE, related_name="revision")
    """The task as it is after the patch; `task.original` is the one before."""
    category = models.CharField(max_length=30, choices=Category.choices, db_index=True)
    why = models.TextField()
    changes = models.JSONField(default=list)
    """The changes of the patch, in the form of its file."""

    class Meta:
        verbose_name = _("task revision")

    def __str__(self) -> str:
        return f"{self.task_id}: {self.category}"
