"""Addresses of disk use, quotas, and what is put away."""

from django.urls import path

from runs.operations.retention import views as retention
from runs.operations.space import views as space

urlpatterns = [
    path("storage/", space.space, name="space"),
    path("storage/measure/", space.space_measure, name="space_measure"),
    path("storage/experiments/<int:experiment_id>/", retention.retention, name="retention"),
    path(
        "storage/experiments/<int:experiment_id>/limits/",
        retention.retention_limits,
        name="retention_limits",
    ),
    path(
        "storage/experiments/<int:experiment_id>/archive/",
        retention.retention_archive,
        name="retention_archive",
    ),
    path(
        "storage/experiments/<int:experiment_id>/restore/",
        retention.retention_restore,
        name="retention_restore",
    ),
    path(
        "storage/experiments/<int:experiment_id>/delete/",
        retention.retention_delete,
        name="retention_delete",
    ),
]
