"""Addresses of judging; those of analysis are gathered in its own folder."""

from django.urls import URLPattern, URLResolver, path

from judging.analysis import urls as analysis_urls
from judging.api.reference import api_reference
from judging.evaluating import views as batches
from judging.portability import views as downloads
from judging.portability.label_imports import views as label_imports
from judging.studies import views as studies
from judging.studies.disputes import views as disputes
from judging.studies.labels import views as annotate

app_name = "judging"

people = [
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
evaluations = [
    path("studies/<int:study_id>/audit/evaluate/", batches.audit_evaluate, name="audit_evaluate"),
    path("audit/evaluate/", batches.runs_evaluate, name="runs_evaluate"),
    path("audit/batches/", batches.batch_list, name="batch_list"),
    path("audit/batches/<uuid:batch_id>/", batches.batch_detail, name="batch_detail"),
    path("audit/batches/<uuid:batch_id>/cancel/", batches.batch_cancel, name="batch_cancel"),
    path("audit/batches/<uuid:batch_id>/resume/", batches.batch_resume, name="batch_resume"),
]
files = [
    path(
        "studies/<int:study_id>/data/<slug:name>.<slug:ending>",
        downloads.study_data,
        name="study_data",
    ),
    path(
        "experiments/<int:experiment_id>/data/<slug:name>.<slug:ending>",
        downloads.experiment_data,
        name="experiment_data",
    ),
    path(
        "studies/<int:study_id>/downloads/",
        downloads.study_downloads,
        name="study_downloads",
    ),
    path(
        "studies/<int:study_id>/downloads/<uuid:download_id>/",
        downloads.study_download_file,
        name="study_download_file",
    ),
    path(
        "studies/<int:study_id>/downloads/<uuid:download_id>/cancel/",
        downloads.study_download_cancel,
        name="study_download_cancel",
    ),
    path("studies/labels/", label_imports.label_import_list, name="label_import_list"),
    path(
        "studies/labels/<uuid:import_id>/",
        label_imports.label_import_detail,
        name="label_import_detail",
    ),
    path(
        "studies/labels/<uuid:import_id>/decide/",
        label_imports.label_import_decide,
        name="label_import_decide",
    ),
]
urlpatterns: list[URLPattern | URLResolver] = [
    *people,
    *analysis_urls.urlpatterns,
    *evaluations,
    *files,
    path("api/", api_reference, name="api_reference"),
]
