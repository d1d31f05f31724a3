"""Addresses of what-if pages."""

from django.urls import path

from judging.analysis.audits import whatif_views as whatif

urlpatterns = [
    path("studies/<int:study_id>/audit/what-if/", whatif.what_if, name="what_if"),
    path("studies/<int:study_id>/audit/what-if/rules/", whatif.what_if_rules, name="what_if_rules"),
    path("studies/<int:study_id>/audit/what-if/save/", whatif.what_if_save, name="what_if_save"),
]
