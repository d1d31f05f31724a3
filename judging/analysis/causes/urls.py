"""Addresses of the causes of errors."""

from django.urls import path

from judging.analysis.causes import views as causes

urlpatterns = [
    path("studies/<int:study_id>/audit/causes/", causes.audit_causes, name="audit_causes"),
    path(
        "studies/<int:study_id>/audit/<int:evaluator_id>/causes.svg",
        causes.audit_causes_picture,
        name="audit_causes_picture",
    ),
    path(
        "studies/<int:study_id>/audit/<int:evaluator_id>/causes/<uuid:run_id>/",
        causes.cause_tag,
        name="cause_tag",
    ),
    path(
        "studies/<int:study_id>/audit/<int:evaluator_id>/cells/<slug:cells>/causes/",
        causes.cause_tag_selected,
        name="cause_tag_selected",
    ),
    path(
        "studies/<int:study_id>/audit/<int:evaluator_id>/cells/<slug:cells>/causes/undo/",
        causes.cause_undo,
        name="cause_undo",
    ),
]
