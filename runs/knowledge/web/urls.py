"""Addresses of web knowledge, and of the jobs that write it."""

from django.urls import path

from runs.knowledge.learning import views as learning
from runs.knowledge.web import learning_views as knowledge_learning
from runs.knowledge.web import views as knowledge

urlpatterns = [
    path("knowledge/", knowledge.knowledge_list, name="knowledge_list"),
    path("knowledge/extract/", knowledge_learning.knowledge_extract, name="knowledge_extract"),
    path("knowledge/<int:pk>/", knowledge.knowledge_detail, name="knowledge_detail"),
    path(
        "knowledge/<int:pk>/summarise/",
        knowledge_learning.knowledge_summarise,
        name="knowledge_summarise",
    ),
    path("knowledge/entries/<int:pk>/", knowledge.knowledge_entry, name="knowledge_entry"),
    path("knowledge/entries/<int:pk>/switch/", knowledge.knowledge_switch, name="knowledge_switch"),
    path("learning/<uuid:job_id>/", learning.learning_job, name="learning_job"),
    path("learning/<uuid:job_id>/cancel/", learning.learning_cancel, name="learning_cancel"),
    path("learning/<uuid:job_id>/resume/", learning.learning_resume, name="learning_resume"),
]
