"""Addresses of the API, version 1."""

from judging.api.version_1 import api

app_name = "api"
urlpatterns = api.addresses()
