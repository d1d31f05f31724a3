"""Addresses of the runs table, the run page and the jobs in the top bar."""

from django.urls import path

from runs.queue import jobs
from runs.storage import views as blobs
from runs.viewer import comparison as run_compare
from runs.viewer import run_page
from runs.viewer import run_page as run_live
from runs.viewer.run_list import views as run_list

urlpatterns = [
    path("runs/", run_list.run_list, name="run_list"),
    path("runs/count/", run_list.run_count, name="run_count"),
    path("runs/prefetch-rules/", run_list.prefetch_rules, name="prefetch_rules"),
    path("runs/columns/", run_list.run_columns, name="run_columns"),
    path("runs/compare/", run_compare.run_compare, name="run_compare"),
    path("runs/<uuid:run_id>/", run_page.run_detail, name="run_detail"),
    path("runs/<uuid:run_id>/live/", run_live.run_live, name="run_live"),
    path("runs/<uuid:run_id>/steps/", run_page.run_steps, name="run_steps"),
    path("runs/<uuid:run_id>/steps/<int:index>/", run_page.run_step, name="run_step"),
    path("runs/<uuid:run_id>/steps/<int:index>/screen/", run_page.run_screen, name="run_screen"),
    path("runs/<uuid:run_id>/steps/<int:index>/calls/", run_page.run_calls, name="run_calls"),
    path(
        "runs/<uuid:run_id>/compare/", run_compare.run_compare_choices, name="run_compare_choices"
    ),
    path("runs/<uuid:run_id>/files/", run_page.run_files, name="run_files"),
    path("runs/<uuid:run_id>/blobs/<slug:sha256>/", blobs.run_blob, name="run_blob"),
    path("jobs/", jobs.job_drawer, name="job_drawer"),
    path("jobs/count/", jobs.job_count, name="job_count"),
]
