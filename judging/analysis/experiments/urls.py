"""Addresses of the figures of experiments."""

from django.urls import path

from judging.analysis.experiments import compare_views as experiment_compare
from judging.analysis.experiments import controls_views as experiment_controls
from judging.analysis.experiments import views as experiments
from judging.analysis.progress import views as experiment_progress

urlpatterns = [
    path("experiments/compare/", experiment_compare.experiment_compare, name="experiment_compare"),
    path(
        "experiments/compare.<slug:ending>",
        experiment_compare.experiment_compare_file,
        name="experiment_compare_file",
    ),
    path(
        "experiments/<int:experiment_id>/",
        experiments.experiment_detail,
        name="experiment_detail",
    ),
    path(
        "experiments/<int:experiment_id>/freshness/",
        experiments.experiment_freshness,
        name="experiment_freshness",
    ),
    path(
        "experiments/<int:experiment_id>/parts/<slug:name>/",
        experiments.experiment_part,
        name="experiment_part",
    ),
    path(
        "experiments/<int:experiment_id>/progress-rates/",
        experiment_progress.experiment_progress_rates,
        name="experiment_progress_rates",
    ),
    path(
        "experiments/<int:experiment_id>/progress-rates/<slug:name>.<slug:ending>",
        experiment_progress.experiment_progress_table,
        name="experiment_progress_table",
    ),
    path(
        "experiments/<int:experiment_id>/runs/",
        experiments.experiment_runs,
        name="experiment_runs",
    ),
    path(
        "experiments/<int:experiment_id>/runs.<slug:ending>",
        experiments.experiment_runs_file,
        name="experiment_runs_file",
    ),
    path(
        "experiments/<int:experiment_id>/tables/<slug:name>.<slug:ending>",
        experiments.experiment_table,
        name="experiment_table",
    ),
    path(
        "experiments/<int:experiment_id>/report.<slug:ending>",
        experiments.experiment_report,
        name="experiment_report",
    ),
    path(
        "experiments/<int:experiment_id>/pictures/<slug:name>.svg",
        experiments.experiment_picture,
        name="experiment_picture",
    ),
    path(
        "experiments/<int:experiment_id>/controls/",
        experiment_controls.controls_launch,
        name="controls_launch",
    ),
]
