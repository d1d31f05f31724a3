"""Addresses of runs, gathered from the parts of the app."""

from django.urls import URLPattern, URLResolver

app_name = "runs"
urlpatterns: list[URLPattern | URLResolver] = []
