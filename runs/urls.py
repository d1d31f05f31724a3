"""Addresses of runs, gathered from the parts of the app."""

from django.urls import URLPattern, URLResolver, path, re_path

from runs.accounts import audit_log_pages, tokens
from runs.catalogue import urls as catalogue_urls
from runs.exports import urls as export_urls
from runs.imports import urls as import_urls
from runs.knowledge import urls as knowledge_urls
from runs.launching import urls as launching_urls
from runs.operations import urls as operations_urls
from runs.viewer import urls as viewer_urls

app_name = "runs"
urlpatterns: list[URLPattern | URLResolver] = [
    path("acts/", audit_log_pages.audit_log, name="audit_log"),
    re_path(
        r"^acts\.(?P<ending>csv|jsonl)$", audit_log_pages.audit_log_file, name="audit_log_file"
    ),
    *import_urls.urlpatterns,
    *export_urls.urlpatterns,
    *viewer_urls.urlpatterns,
    *launching_urls.urlpatterns,
    *operations_urls.urlpatterns,
    *catalogue_urls.urlpatterns,
    *knowledge_urls.urlpatterns,
    path("tokens/", tokens.token_list, name="token_list"),
    path("tokens/<int:pk>/revoke/", tokens.token_revoke, name="token_revoke"),
]
