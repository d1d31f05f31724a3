"""Addresses of labels made elsewhere, and of what can be downloaded of studies and experiments."""

from django.urls import path

from judging.portability import views as downloads
from judging.portability.label_imports import views as label_imports

urlpatterns = [
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
