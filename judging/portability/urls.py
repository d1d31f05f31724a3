"""Addresses of what can be taken away from studies and experiments."""

from django.urls import path

from judging.portability import data_table_views as data_tables
from judging.portability.study_report import views as study_downloads

urlpatterns = [
    path(
        "studies/<int:study_id>/data/<slug:name>.<slug:ending>",
        data_tables.study_data,
        name="study_data",
    ),
    path(
        "experiments/<int:experiment_id>/data/<slug:name>.<slug:ending>",
        data_tables.experiment_data,
        name="experiment_data",
    ),
    path(
        "studies/<int:study_id>/downloads/",
        study_downloads.study_downloads,
        name="study_downloads",
    ),
    path(
        "studies/<int:study_id>/downloads/<uuid:download_id>/",
        study_downloads.study_download_file,
        name="study_download_file",
    ),
    path(
        "studies/<int:study_id>/downloads/<uuid:download_id>/cancel/",
        study_downloads.study_download_cancel,
        name="study_download_cancel",
    ),
]
