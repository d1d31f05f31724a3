"""Address of the page that describes the API."""

from django.urls import path

from judging.api import page_views as api_reference

urlpatterns = [path("api/", api_reference.api_reference, name="api_reference")]
