"""Addresses of hints."""

from django.urls import path

from runs.knowledge.hints import views as hints

urlpatterns = [
    path("hints/", hints.hint_list, name="hint_list"),
    path("hints/jobs/<uuid:job_id>/", hints.hint_job, name="hint_job"),
    path("hints/jobs/<uuid:job_id>/cancel/", hints.hint_job_cancel, name="hint_job_cancel"),
    path("hints/jobs/<uuid:job_id>/resume/", hints.hint_job_resume, name="hint_job_resume"),
    path("hints/<int:hint_id>/", hints.hint_detail, name="hint_detail"),
]
