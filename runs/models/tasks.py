"""Tasks and the versioned sets they come in."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from runs.querysets.tasks import TaskQuerySet


class TaskSet(models.Model):
    """A named, versioned collection of tasks, such as `webarena` `raw`."""

    name = models.CharField(max_length=200)
    version = models.CharField(max_length=200)
    parent = models.ForeignKey("self", models.PROTECT, null=True, blank=True)
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
    max_steps = models.PositiveIntegerField(null=True, blank=True)
    infeasible_reason = models.TextField(blank=True)
    record = models.JSONField(default=dict)
    """The task as it came in, so that it can go out again without loss."""

    objects = TaskQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task_set", "external_id"], name="one_task_per_set"),
        ]
        ordering = ["task_set", "external_id"]
        verbose_name = _("task")

    def __str__(self) -> str:
        return self.external_id
