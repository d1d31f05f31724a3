"""The app of judgements: people's labels, evaluators' verdicts, and how they compare."""

from importlib import import_module

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class JudgingConfig(AppConfig):
    name = "judging"
    verbose_name = _("Judging")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Listen to what happens to runs; keep roles and what is derived in every database."""
        import_module("judging.evaluating.tasks")
        # Models are loaded only now.
        from judging.extension import EXTENSION
        from judging.studies.integrity import date_rows
        from runs.models.extension import register

        register(EXTENSION)
        roles = import_module("judging.studies.access")
        last = [each for each in apps.get_app_configs() if each.models_module][-1]  # all exist then
        post_migrate.connect(roles.sync_roles, sender=last, dispatch_uid="judging.sync_roles")
        post_migrate.connect(date_rows, sender=self, dispatch_uid="judging.date_rows")
