"""Addresses of runs, gathered from the parts of the app."""

from django.urls import URLPattern, URLResolver

from runs import (
    act_urls,
    exchange_urls,
    hint_urls,
    infrastructure_urls,
    knowledge_urls,
    policy_urls,
    rerun_urls,
    run_urls,
    space_urls,
    task_urls,
    token_urls,
)

app_name = "runs"
urlpatterns: list[URLPattern | URLResolver] = [
    *act_urls.urlpatterns,
    *exchange_urls.urlpatterns,
    *run_urls.urlpatterns,
    *rerun_urls.urlpatterns,
    *policy_urls.urlpatterns,
    *infrastructure_urls.urlpatterns,
    *space_urls.urlpatterns,
    *task_urls.urlpatterns,
    *knowledge_urls.urlpatterns,
    *hint_urls.urlpatterns,
    *token_urls.urlpatterns,
]
