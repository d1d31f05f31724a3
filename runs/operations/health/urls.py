"""Addresses of what is told about the infrastructure."""

from django.urls import path

from runs.operations.health import infrastructure_views as infrastructure

urlpatterns = [
    path("reruns/infrastructure/", infrastructure.infrastructure, name="infrastructure"),
    path(
        "reruns/infrastructure/sites/",
        infrastructure.infrastructure_sites,
        name="infrastructure_sites",
    ),
]
