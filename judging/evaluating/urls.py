"""Addresses of evaluations in the background."""

from django.urls import path

from judging.evaluating import views as batches

urlpatterns = [
    path("studies/<int:study_id>/audit/evaluate/", batches.audit_evaluate, name="audit_evaluate"),
    path("audit/evaluate/", batches.runs_evaluate, name="runs_evaluate"),
    path("audit/batches/", batches.batch_list, name="batch_list"),
    path("audit/batches/<uuid:batch_id>/", batches.batch_detail, name="batch_detail"),
    path("audit/batches/<uuid:batch_id>/cancel/", batches.batch_cancel, name="batch_cancel"),
    path("audit/batches/<uuid:batch_id>/resume/", batches.batch_resume, name="batch_resume"),
]
