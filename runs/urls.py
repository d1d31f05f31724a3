"""Addresses of runs, gathered from the parts of the app."""

from django.urls import URLPattern, URLResolver

from runs.accounts import audit_log_urls, token_urls
from runs.catalogue.tasks import urls as task_urls
from runs.exports import urls as export_urls
from runs.imports import urls as import_urls
from runs.knowledge.hints import urls as hint_urls
from runs.knowledge.web import urls as knowledge_urls
from runs.launching.hint_experiments import urls as hint_experiment_urls
from runs.launching.policies import urls as policy_urls
from runs.launching.reruns import urls as rerun_urls
from runs.operations.health import urls as infrastructure_urls
from runs.operations.space import urls as space_urls
from runs.viewer.run_page import urls as run_urls

app_name = "runs"
urlpatterns: list[URLPattern | URLResolver] = [
    *audit_log_urls.urlpatterns,
    *import_urls.urlpatterns,
    *export_urls.urlpatterns,
    *run_urls.urlpatterns,
    *rerun_urls.urlpatterns,
    *policy_urls.urlpatterns,
    *infrastructure_urls.urlpatterns,
    *space_urls.urlpatterns,
    *task_urls.urlpatterns,
    *knowledge_urls.urlpatterns,
    *hint_urls.urlpatterns,
    *hint_experiment_urls.urlpatterns,
    *token_urls.urlpatterns,
]
