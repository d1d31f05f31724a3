"""The app that stores runs, shows them, and has them rerun."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class RunsConfig(AppConfig):
    name = "runs"
    verbose_name = _("Runs")
    default_auto_field = "django.db.models.BigAutoField"
