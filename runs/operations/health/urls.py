"""Addresses of what is told about the infrastructure."""

from django.urls import path, re_path

from runs.operations.faults import views as reliability
from runs.operations.health import infrastructure_views as infrastructure

urlpatterns = [
    path("reruns/infrastructure/", infrastructure.infrastructure, name="infrastructure"),
    path(
        "reruns/infrastructure/sites/",
        infrastructure.infrastructure_sites,
        name="infrastructure_sites",
    ),
    path("operations/reliability/", reliability.reliability_report, name="reliability"),
    re_path(
        r"^operations/reliability\.(?P<ending>json|csv)$",
        reliability.reliability_file,
        name="reliability_file",
    ),
]
