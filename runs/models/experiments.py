"""Experiments: runs that belong together, and the agent configurations that they compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext_lazy as _

from runs.models.visibility import run_policy

if TYPE_CHECKING:
    from runs.models.people import User


class ExperimentQuerySet(models.QuerySet["Experiment"]):
    def visible_to(self, user: User) -> Self:
        """Experiments without those that hold only runs whose agent is hidden from the person.

        The name of such a one mostly tells the agent.
        """
        anonymous = run_policy().anonymous(user)
        if anonymous is None:
            return self.all()
        model: Any = self.model._meta.get_field("runs").related_model
        runs = model._default_manager.filter(experiment=OuterRef("pk"))
        return self.filter(~Exists(runs) | Exists(runs.exclude(anonymous)))


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
    """Runs are archived so many days after they ended, and deleted later; empty for never."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ExperimentQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]
        verbose_name = "experiment"
        indexes = [models.Index(fields=["-created_at", "-id"], name="experiment_newest")]
        permissions = [("manage_space", "Can archive and delete runs, and set quotas")]

    def __str__(self) -> str:
        return self.name


HINTS_KEY = "hints"
"""Where a configuration names its hint set."""
KNOWLEDGE_KEY = "knowledge"
"""Where a configuration has its web knowledge."""


class AgentConfiguration(models.Model):
    """An agent with everything that makes it behave as it does."""

    name = models.CharField(max_length=200)
    version = models.CharField(max_length=100, blank=True)
    model = models.CharField(max_length=200, blank=True, db_index=True)
    """The first model's name; empty for agents without one."""
    model_names = models.JSONField(default=list)
    config = models.JSONField(default=dict)
    config_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "version"]
        verbose_name = "agent configuration"
        indexes = [models.Index(fields=["name"], name="agent_by_name")]

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()

    @property
    def hint_key(self) -> str:
        """The hint set that the agent names; empty for none."""
        key = self.config.get(HINTS_KEY)
        return key if isinstance(key, str) else ""

    @property
    def knowledge_hash(self) -> str:
        """The hash of the web knowledge that the agent has; empty for none."""
        had = self.config.get(KNOWLEDGE_KEY)
        return str(had.get("sha256", "")) if isinstance(had, dict) else ""
