"""Experiments: runs that belong together, as they came in or as somebody planned them."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from runs.models.experiment_queries import ExperimentQuerySet


class ExperimentState(models.TextChoices):
    """What its people want of it. That it has finished follows from its runs."""

    WAITING = "waiting", _("waits for its sites")
    RUNNING = "running", _("running")
    PAUSED = "paused", _("paused")
    CANCELLED = "cancelled", _("cancelled")


class Experiment(models.Model):
    """Runs that belong together because somebody wants to compare them.

    No run starts while `state` is not `running`: every claim asks for it.
    """

    name = models.CharField(max_length=200, unique=True)
    description = models.TextField(blank=True)
    plan = models.JSONField(default=dict)
    """What was launched, a `runs.launching.experiments.plans.Plan` in words; empty for imports."""
    token = models.UUIDField(null=True, blank=True, unique=True, editable=False)
    """Names the form or command that it was launched with: the same launches it once."""
    state = models.CharField(
        max_length=10, choices=ExperimentState, default=ExperimentState.RUNNING
    )
    parallelism = models.PositiveSmallIntegerField(null=True, blank=True)
    """The most of its runs at a time; empty for as many as there are browsers."""
    waits_because = models.TextField(blank=True)
    """Which sites it waits for, and what is wrong with them."""
    max_runs = models.PositiveIntegerField(null=True, blank=True)
    """The most runs that it may hold; empty for any number."""
    max_bytes = models.BigIntegerField(null=True, blank=True)
    """The most bytes of files of its runs in the store; empty for any number."""
    keep_days = models.PositiveIntegerField(null=True, blank=True)
    """Runs are put away so many days after they ended, and deleted later; empty for never."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ExperimentQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name = _("experiment")
        indexes = [models.Index(fields=["-created_at", "-id"], name="experiment_newest")]
        permissions = [("manage_space", "Can put away and delete runs, and set quotas")]

    def __str__(self) -> str:
        return self.name
