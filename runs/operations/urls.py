"""Addresses of disk use, retention and the infrastructure."""

from django.urls import path

from runs.operations.health import infrastructure
from runs.operations.space import retention_views as retention
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
    path("reruns/infrastructure/", infrastructure.infrastructure, name="infrastructure"),
    path(
        "reruns/infrastructure/sites/",
        infrastructure.infrastructure_sites,
        name="infrastructure_sites",
    ),
]
