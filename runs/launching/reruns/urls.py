"""Addresses of reruns and experiments."""

from django.urls import path

from runs.launching.experiments import views as experiments
from runs.launching.reruns import views as reruns

urlpatterns = [
    path("reruns/", reruns.rerun_list, name="rerun_list"),
    path("reruns/cancel/", reruns.rerun_cancel_own, name="rerun_cancel_own"),
    path("runs/rerun/", reruns.run_rerun_selected, name="run_rerun_selected"),
    path("runs/<uuid:run_id>/rerun/", reruns.run_rerun, name="run_rerun"),
    path("runs/<uuid:run_id>/cancel/", reruns.run_cancel, name="run_cancel"),
    path("runs/<uuid:run_id>/retry/", reruns.run_retry, name="run_retry"),
    path("experiments/", experiments.experiment_list, name="experiment_list"),
    path("experiments/new/", experiments.experiment_new, name="experiment_new"),
    path(
        "experiments/<int:pk>/progress/",
        experiments.experiment_progress,
        name="experiment_progress",
    ),
    path("experiments/<int:pk>/pause/", experiments.experiment_pause, name="experiment_pause"),
    path("experiments/<int:pk>/resume/", experiments.experiment_resume, name="experiment_resume"),
    path("experiments/<int:pk>/cancel/", experiments.experiment_cancel, name="experiment_cancel"),
]
