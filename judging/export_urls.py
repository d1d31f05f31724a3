"""Addresses of what can be taken away from studies and experiments."""

from django.urls import path

from judging.views import data_tables

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
]
