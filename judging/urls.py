"""Addresses of judging, gathered from the parts of the app."""

from django.urls import URLPattern, URLResolver

app_name = "judging"
urlpatterns: list[URLPattern | URLResolver] = []
