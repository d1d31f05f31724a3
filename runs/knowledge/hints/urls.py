"""Addresses of hints and of experiments with them."""

from django.urls import path

from runs.knowledge.hints import views as hints
from runs.launching.hint_experiments import views as hint_experiments

urlpatterns = [
    path("hints/", hints.hint_list, name="hint_list"),
    path("hints/jobs/<uuid:job_id>/", hints.hint_job, name="hint_job"),
    path("hints/jobs/<uuid:job_id>/cancel/", hints.hint_job_cancel, name="hint_job_cancel"),
    path("hints/jobs/<uuid:job_id>/resume/", hints.hint_job_resume, name="hint_job_resume"),
    path("hints/<int:hint_id>/", hints.hint_detail, name="hint_detail"),
    path(
        "experiments/hints/new/", hint_experiments.hint_experiment_new, name="hint_experiment_new"
    ),
]
