"""Addresses of judging, gathered from the parts of the app."""

from django.urls import URLPattern, URLResolver, path

from judging.analysis import urls as analysis_urls
from judging.api.reference import api_reference
from judging.evaluating import urls as batch_urls
from judging.portability import urls as export_urls
from judging.studies import urls as people_urls

app_name = "judging"
urlpatterns: list[URLPattern | URLResolver] = [
    *people_urls.urlpatterns,
    *analysis_urls.urlpatterns,
    *batch_urls.urlpatterns,
    *export_urls.urlpatterns,
    path("api/", api_reference, name="api_reference"),
]
