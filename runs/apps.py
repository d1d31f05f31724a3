"""The app that stores runs, shows them, and has them rerun."""

from importlib import import_module

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate, pre_migrate
from django.utils.translation import gettext_lazy as _

from webagent.agents.registry import use_models_file


class RunsConfig(AppConfig):
    name = "runs"
    verbose_name = _("Runs")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Know the queue and the models, listen to news, and guard finished runs.

        The guard rests while migrations run.
        """
        import_module(settings.QUEUE_APP)
        import_module("runs.launching.anomalies")
        import_module("runs.accounts.log_in")
        import_module("runs.operations.processes.worker_processes")
        import_module("runs.operations.write_turns")
        use_models_file(lambda: settings.ENV.MODELS_FILE)
        # Models are loaded only now.
        from runs.models.policies import add_ready_policies
        from runs.models.triggers import install_goal_texts, install_guards, remove_guards

        pre_migrate.connect(remove_guards, sender=self)
        post_migrate.connect(install_guards, sender=self)
        post_migrate.connect(install_goal_texts, sender=self)
        post_migrate.connect(add_ready_policies, sender=self)
