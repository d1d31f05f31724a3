"""The app of judgements: people's labels, evaluators' verdicts, and how they compare."""

from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class JudgingConfig(AppConfig):
    name = "judging"
    verbose_name = _("Judging")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen to what happens to runs."""
        import_module("judging.receivers")
