"""Addresses of judging."""

from django.urls import URLPattern

app_name = "judging"
urlpatterns: list[URLPattern] = []
