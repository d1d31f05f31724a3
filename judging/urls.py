"""Addresses of judging, gathered from the parts of the app."""

from django.urls import URLPattern, URLResolver

from judging import (
    api_urls,
    audit_urls,
    batch_urls,
    cause_urls,
    experiment_urls,
    export_urls,
    failure_urls,
    hint_urls,
    label_import_urls,
    people_urls,
    whatif_urls,
)

app_name = "judging"
urlpatterns: list[URLPattern | URLResolver] = [
    *people_urls.urlpatterns,
    *audit_urls.urlpatterns,
    *batch_urls.urlpatterns,
    *cause_urls.urlpatterns,
    *whatif_urls.urlpatterns,
    *experiment_urls.urlpatterns,
    *export_urls.urlpatterns,
    *failure_urls.urlpatterns,
    *hint_urls.urlpatterns,
    *label_import_urls.urlpatterns,
    *api_urls.urlpatterns,
]
