"""Addresses of home, studies, labels and disputes."""

from django.urls import path

from judging.studies import views as studies
from judging.studies.disputes import views as disputes
from judging.studies.labels import views as annotate

urlpatterns = [
    path("", studies.home, name="home"),
    path("studies/", studies.study_list, name="study_list"),
    path("studies/new/", studies.study_create, name="study_create"),
    path("studies/<int:study_id>/", studies.study_detail, name="study_detail"),
    path("studies/<int:study_id>/close/", studies.study_close, name="study_close"),
    path("studies/<int:study_id>/guidelines/", studies.guidelines, name="guidelines"),
    path("studies/<int:study_id>/members/", studies.member_add, name="member_add"),
    path(
        "studies/<int:study_id>/members/<int:user_id>/remove/",
        studies.member_remove,
        name="member_remove",
    ),
    path("studies/<int:study_id>/annotate/", annotate.annotate, name="annotate"),
    path(
        "studies/<int:study_id>/annotate/<uuid:run_id>/", annotate.annotate_run, name="annotate_run"
    ),
    path("studies/<int:study_id>/annotate/draft/", annotate.draft_save, name="draft_save"),
    path("studies/<int:study_id>/annotate/skip/", annotate.label_skip, name="label_skip"),
    path("studies/<int:study_id>/annotate/undo/", annotate.label_undo, name="label_undo"),
    path("studies/<int:study_id>/annotate/comments/", annotate.step_comment, name="step_comment"),
    path("disputes/", disputes.dispute_list, name="dispute_list"),
    path("disputes/overruled/", disputes.overruled, name="overruled"),
    path("disputes/<int:dispute_id>/", disputes.dispute_detail, name="dispute_detail"),
    path("disputes/<int:dispute_id>/messages/", disputes.dispute_message, name="dispute_message"),
    path("disputes/<int:dispute_id>/decide/", disputes.dispute_decide, name="dispute_decide"),
]
