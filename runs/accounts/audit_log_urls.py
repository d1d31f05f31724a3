"""Addresses of the log of acts."""

from django.urls import path, re_path

from runs.accounts import audit_log_views as acts

urlpatterns = [
    path("acts/", acts.act_list, name="act_list"),
    re_path(r"^acts\.(?P<ending>csv|jsonl)$", acts.act_file, name="act_file"),
]
