"""Addresses of how runs failed."""

from django.urls import path

from judging.analysis.failure_modes import views as failure_modes
from judging.analysis.miniwob import views as failure_causes

urlpatterns = [
    path("runs/<uuid:run_id>/failure-cause/", failure_causes.failure_cause, name="failure_cause"),
    path(
        "experiments/<int:experiment_id>/failure-causes/",
        failure_causes.failure_causes,
        name="failure_causes",
    ),
    path("runs/<uuid:run_id>/failure/", failure_modes.failure_review, name="failure_review"),
    path("failures/", failure_modes.failure_reviews, name="failure_reviews"),
    path(
        "studies/<int:study_id>/audit/failures/",
        failure_modes.audit_failures,
        name="audit_failures",
    ),
    path(
        "studies/<int:study_id>/audit/failures/runs/",
        failure_modes.audit_failure_runs,
        name="audit_failure_runs",
    ),
]
