"""Every address of runs, feature by feature."""

from django.urls import path, re_path

from runs.accounts import audit_log_pages, tokens
from runs.catalogue.milestones import views as milestones
from runs.catalogue.tasks import views as tasks
from runs.exports import views as exports
from runs.imports import views as imports
from runs.knowledge import job_views as learning
from runs.knowledge.hints import pages as hints
from runs.knowledge.web import views as knowledge
from runs.launching import wall
from runs.launching.experiments import views as experiments
from runs.launching.experiments.hint_views import hint_experiment_new
from runs.launching.policies import rerun_views as policy_reruns
from runs.launching.policies import views as policies
from runs.launching.reruns import views as reruns
from runs.operations.health import infrastructure
from runs.operations.space import retention_views as retention
from runs.operations.space import views as space
from runs.queue import jobs
from runs.storage import views as blobs
from runs.viewer import comparison as run_compare
from runs.viewer import run_page
from runs.viewer.run_list import saved_views
from runs.viewer.run_list import views as run_list

app_name = "runs"
urlpatterns = [
    # accounts
    path("acts/", audit_log_pages.audit_log, name="audit_log"),
    re_path(
        r"^acts\.(?P<ending>csv|jsonl)$", audit_log_pages.audit_log_file, name="audit_log_file"
    ),
    path("tokens/", tokens.token_list, name="token_list"),
    path("tokens/<int:pk>/revoke/", tokens.token_revoke, name="token_revoke"),
    # imports
    path("imports/", imports.import_list, name="import_list"),
    path("imports/<uuid:job_id>/", imports.import_detail, name="import_detail"),
    path("imports/<uuid:job_id>/decide/", imports.import_decide, name="import_decide"),
    path("imports/<uuid:job_id>/again/", imports.import_read_again, name="import_read_again"),
    path("imports/<uuid:job_id>/forget/", imports.import_forget, name="import_forget"),
    # exports
    path("runs/export/", exports.run_export_selected, name="run_export_selected"),
    path("runs/<uuid:run_id>/export/", exports.run_export, name="run_export"),
    # viewer
    path("runs/", run_list.run_list, name="run_list"),
    path("runs/count/", run_list.run_count, name="run_count"),
    path("runs/facets/", run_list.run_facets, name="run_facets"),
    path("runs/matching/", run_list.run_matching, name="run_matching"),
    path("runs/prefetch-rules/", run_list.prefetch_rules, name="prefetch_rules"),
    path("runs/columns/", run_list.run_columns, name="run_columns"),
    path("runs/views/", saved_views.view_save, name="view_save"),
    path("runs/views/<int:pk>/delete/", saved_views.view_delete, name="view_delete"),
    path("runs/views/<int:pk>/default/", saved_views.view_default, name="view_default"),
    path("runs/<uuid:run_id>/preview/", run_list.run_preview, name="run_preview"),
    path("runs/compare/", run_compare.run_compare, name="run_compare"),
    path("runs/<uuid:run_id>/", run_page.run_detail, name="run_detail"),
    path("runs/<uuid:run_id>/live/", run_page.run_live, name="run_live"),
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
    # launching
    path("reruns/", reruns.rerun_list, name="rerun_list"),
    path("reruns/live/", wall.live_wall, name="live_wall"),
    path("reruns/cancel/", reruns.rerun_cancel_own, name="rerun_cancel_own"),
    path("runs/rerun/", reruns.run_rerun_selected, name="run_rerun_selected"),
    path("runs/<uuid:run_id>/rerun/", reruns.run_rerun, name="run_rerun"),
    path("runs/<uuid:run_id>/cancel/", reruns.run_cancel, name="run_cancel"),
    path("runs/<uuid:run_id>/retry/", reruns.run_retry, name="run_retry"),
    path("experiments/", experiments.experiment_list, name="experiment_list"),
    path("experiments/new/", experiments.experiment_new, name="experiment_new"),
    path(
        "experiments/<int:pk>/progress/",
        experiments.experiment_progress,
        name="experiment_progress",
    ),
    path("experiments/<int:pk>/pause/", experiments.experiment_pause, name="experiment_pause"),
    path("experiments/<int:pk>/resume/", experiments.experiment_resume, name="experiment_resume"),
    path("experiments/<int:pk>/cancel/", experiments.experiment_cancel, name="experiment_cancel"),
    path("policies/", policies.policy_list, name="policy_list"),
    path("policies/new/", policies.policy_new, name="policy_new"),
    path("policies/preview/", policies.policy_preview, name="policy_preview"),
    path("policies/reruns/", policy_reruns.policy_reruns, name="policy_reruns"),
    path("policies/<int:pk>/", policies.policy_detail, name="policy_detail"),
    path("policies/<int:pk>/edit/", policies.policy_edit, name="policy_edit"),
    path("experiments/hints/new/", hint_experiment_new, name="hint_experiment_new"),
    # operations
    path("storage/", space.space, name="space"),
    path("storage/measure/", space.space_measure, name="space_measure"),
    path("storage/experiments/<int:experiment_id>/", retention.retention, name="retention"),
    path(
        "storage/experiments/<int:experiment_id>/limits/",
        retention.retention_limits,
        name="retention_limits",
    ),
    path(
        "storage/experiments/<int:experiment_id>/archive/",
        retention.retention_archive,
        name="retention_archive",
    ),
    path(
        "storage/experiments/<int:experiment_id>/restore/",
        retention.retention_restore,
        name="retention_restore",
    ),
    path(
        "storage/experiments/<int:experiment_id>/delete/",
        retention.retention_delete,
        name="retention_delete",
    ),
    path("reruns/infrastructure/", infrastructure.infrastructure, name="infrastructure"),
    path(
        "reruns/infrastructure/sites/",
        infrastructure.infrastructure_sites,
        name="infrastructure_sites",
    ),
    # catalogue
    path("tasks/", tasks.task_list, name="task_list"),
    path("tasks/<int:task_id>/", tasks.task_detail, name="task_detail"),
    path("tasks/sets/<int:set_id>/", tasks.task_set_detail, name="task_set_detail"),
    path("tasks/<int:task_id>/milestones/", milestones.task_milestones, name="task_milestones"),
    path(
        "tasks/<int:task_id>/milestones/import/",
        milestones.task_milestones_import,
        name="task_milestones_import",
    ),
    path(
        "tasks/<int:task_id>/milestones.json",
        milestones.task_milestones_file,
        name="task_milestones_file",
    ),
    path(
        "tasks/sets/<int:set_id>/milestones/",
        milestones.set_milestones_page,
        name="set_milestones",
    ),
    path(
        "tasks/sets/<int:set_id>/milestones.json",
        milestones.set_milestones_file,
        name="set_milestones_file",
    ),
    # knowledge
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
