"""Agent configurations: everything that makes an agent behave as it does."""

from django.db import models
from django.utils.translation import gettext_lazy as _

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
        verbose_name = _("agent configuration")

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
