"""Milestones: the steps on the way to a task's goal that progress is counted in."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from runs.models.tasks import Task


class MilestoneQuerySet(models.QuerySet["Milestone"]):
    """Queries over milestones."""

    def in_force(self) -> Self:
        """Those that were not removed, in the order of their tasks."""
        return self.filter(removed_at__isnull=True)


class Milestone(models.Model):
    """One milestone of a task. As hidden as the task's specification: its check tells the answer.

    What a milestone is called is what people and judges were asked, so another name makes another
    milestone; the former is kept, removed, with what was said of it.
    """

    class Origin(models.TextChoices):
        WRITTEN = "written", _("written here")
        IMPORTED = "imported", _("imported")
        PROPOSED = "proposed", _("proposed by a model, accepted by a person")

    task = models.ForeignKey(Task, models.CASCADE, related_name="milestones")
    position = models.PositiveIntegerField()
    """Its place among the task's milestones, from 1; those removed keep their last one."""
    name = models.CharField(_("name"), max_length=200)
    weight = models.FloatField(_("weight"), default=1.0)
    is_ordered = models.BooleanField(_("in order"), default=False)
    """Counts only once all ordered milestones before it were reached."""
    rule = models.JSONField(_("mechanical check"), null=True, blank=True)
    """How to tell from the steps alone, as `webagent.milestones.checks.Rule` writes it, or None."""
    origin = models.CharField(max_length=10, choices=Origin, default=Origin.WRITTEN)
    added_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    added_at = models.DateTimeField(auto_now_add=True)
    removed_at = models.DateTimeField(null=True, blank=True)

    objects = MilestoneQuerySet.as_manager()

    class Meta:
        ordering = ["task", "position", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["task", "name"],
                condition=models.Q(removed_at__isnull=True),
                name="milestone_named_once",
            ),
            models.CheckConstraint(condition=models.Q(weight__gt=0), name="milestone_weighs"),
        ]
        verbose_name = _("milestone")

    def __str__(self) -> str:
        return self.name
