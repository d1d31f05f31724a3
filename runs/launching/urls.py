"""Addresses of reruns, experiments, retry policies and experiments with hints."""

from django.urls import path

from runs.launching.experiments import views as experiments
from runs.launching.experiments.hint_views import hint_experiment_new
from runs.launching.policies import rerun_views as policy_reruns
from runs.launching.policies import views as policies
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
    path("policies/", policies.policy_list, name="policy_list"),
    path("policies/new/", policies.policy_new, name="policy_new"),
    path("policies/preview/", policies.policy_preview, name="policy_preview"),
    path("policies/reruns/", policy_reruns.policy_reruns, name="policy_reruns"),
    path("policies/<int:pk>/", policies.policy_detail, name="policy_detail"),
    path("policies/<int:pk>/edit/", policies.policy_edit, name="policy_edit"),
    path("experiments/hints/new/", hint_experiment_new, name="hint_experiment_new"),
]
