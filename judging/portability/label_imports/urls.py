"""Addresses of labels that were made elsewhere."""

from django.urls import path

from judging.portability.label_imports import views as label_imports

urlpatterns = [
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
