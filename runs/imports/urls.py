"""Addresses of imports."""

from django.urls import path

from runs.imports import views as imports

urlpatterns = [
    path("imports/", imports.import_list, name="import_list"),
    path("imports/<uuid:job_id>/", imports.import_detail, name="import_detail"),
    path("imports/<uuid:job_id>/decide/", imports.import_decide, name="import_decide"),
    path("imports/<uuid:job_id>/again/", imports.import_read_again, name="import_read_again"),
    path("imports/<uuid:job_id>/forget/", imports.import_forget, name="import_forget"),
]
