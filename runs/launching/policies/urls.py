"""Addresses of retry policies."""

from django.urls import path

from runs.launching.policies import rerun_views as policy_reruns
from runs.launching.policies import views as policies

urlpatterns = [
    path("policies/", policies.policy_list, name="policy_list"),
    path("policies/new/", policies.policy_new, name="policy_new"),
    path("policies/preview/", policies.policy_preview, name="policy_preview"),
    path("policies/reruns/", policy_reruns.policy_reruns, name="policy_reruns"),
    path("policies/<int:pk>/", policies.policy_detail, name="policy_detail"),
    path("policies/<int:pk>/edit/", policies.policy_edit, name="policy_edit"),
]
