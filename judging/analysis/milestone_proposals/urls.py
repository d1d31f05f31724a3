"""Addresses of milestones that a model proposes."""

from django.urls import path

from judging.analysis.milestone_proposals import views

urlpatterns = [
    path(
        "tasks/<int:task_id>/milestones/proposals/",
        views.milestone_proposals,
        name="milestone_proposals",
    ),
    path(
        "tasks/<int:task_id>/milestones/proposals/start/",
        views.milestone_proposals_start,
        name="milestone_proposals_start",
    ),
    path(
        "tasks/<int:task_id>/milestones/proposals/cancel/",
        views.milestone_proposals_cancel,
        name="milestone_proposals_cancel",
    ),
    path(
        "tasks/<int:task_id>/milestones/proposals/decide/",
        views.milestone_proposals_decide,
        name="milestone_proposals_decide",
    ),
]
