"""Retry policies: versioned rows that never change."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from runs.models.policy_queries import RetryPolicyQuerySet


class RetryPolicy(models.Model):
    """What is done about runs that break, get stuck or fail; one version of it.

    A row never changes: the database refuses it, see `runs.models.immutability`. An edit is the
    next version. `body` is a `webagent.recovery.retry_policy.PolicyBody`.
    """

    name = models.CharField(_("name"), max_length=100)
    version = models.PositiveIntegerField(default=1)
    description = models.TextField(_("description"), blank=True)
    body = models.JSONField()
    body_hash = models.CharField(max_length=64)
    """SHA-256 of the canonical body: equal for policies that do the same."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = RetryPolicyQuerySet.as_manager()

    class Meta:
        ordering = ["name", "-version"]
        verbose_name = _("retry policy")
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="one_policy_version"),
        ]

    def __str__(self) -> str:
        return f"{self.name} @{self.version}"
