"""Addresses of one's own tokens of the API."""

from django.urls import path

from runs.accounts import token_views as tokens

urlpatterns = [
    path("tokens/", tokens.token_list, name="token_list"),
    path("tokens/<int:pk>/revoke/", tokens.token_revoke, name="token_revoke"),
]
