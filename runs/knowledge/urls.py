"""Addresses of web knowledge, of hints, and of the jobs that write them."""

from django.urls import path

from runs.knowledge import job_views as learning
from runs.knowledge.hints import pages as hints
from runs.knowledge.web import views as knowledge

urlpatterns = [
    path("hints/", hints.hint_list, name="hint_list"),
    path("hints/jobs/<uuid:job_id>/", hints.hint_job, name="hint_job"),
    path("hints/jobs/<uuid:job_id>/cancel/", hints.hint_job_cancel, name="hint_job_cancel"),
    path("hints/jobs/<uuid:job_id>/resume/", hints.hint_job_resume, name="hint_job_resume"),
    path("hints/<int:hint_id>/", hints.hint_detail, name="hint_detail"),
    path("knowledge/", knowledge.knowledge_list, name="knowledge_list"),
    path("knowledge/extract/", knowledge.knowledge_extract, name="knowledge_extract"),
    path("knowledge/<int:pk>/", knowledge.knowledge_detail, name="knowledge_detail"),
    path(
        "knowledge/<int:pk>/summarise/",
        knowledge.knowledge_summarise,
        name="knowledge_summarise",
    ),
    path("knowledge/entries/<int:pk>/", knowledge.knowledge_entry, name="knowledge_entry"),
    path("knowledge/entries/<int:pk>/switch/", knowledge.knowledge_switch, name="knowledge_switch"),
    path("learning/<uuid:job_id>/", learning.learning_job, name="learning_job"),
    path("learning/<uuid:job_id>/cancel/", learning.learning_cancel, name="learning_cancel"),
    path("learning/<uuid:job_id>/resume/", learning.learning_resume, name="learning_resume"),
]
