"""Addresses of runs, gathered from the parts of the app."""

from django.urls import URLPattern, URLResolver

from runs import rerun_urls, run_urls

app_name = "runs"
urlpatterns: list[URLPattern | URLResolver] = [
    *run_urls.urlpatterns,
    *rerun_urls.urlpatterns,
]
