"""Addresses of the audit log and of one's own API tokens."""

from django.urls import path, re_path

from runs.accounts import audit_log_pages, tokens

urlpatterns = [
    path("acts/", audit_log_pages.audit_log, name="audit_log"),
    re_path(
        r"^acts\.(?P<ending>csv|jsonl)$", audit_log_pages.audit_log_file, name="audit_log_file"
    ),
    path("tokens/", tokens.token_list, name="token_list"),
    path("tokens/<int:pk>/revoke/", tokens.token_revoke, name="token_revoke"),
]
