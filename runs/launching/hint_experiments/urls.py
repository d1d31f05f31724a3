"""Addresses of experiments with hints."""

from django.urls import path

from runs.launching.hint_experiments.views import hint_experiment_new

urlpatterns = [
    path("experiments/hints/new/", hint_experiment_new, name="hint_experiment_new"),
]
