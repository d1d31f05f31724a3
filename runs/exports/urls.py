"""Addresses of exports."""

from django.urls import path

from runs.exports import views as exports

urlpatterns = [
    path("runs/export/", exports.run_export_selected, name="run_export_selected"),
    path("runs/<uuid:run_id>/export/", exports.run_export, name="run_export"),
]
