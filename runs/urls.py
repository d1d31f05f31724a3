"""Every address of runs, feature by feature."""

from django.urls import path, re_path

from runs.accounts import audit_log_pages, tokens
from runs.catalogue.milestones import views as milestones
from runs.catalogue.tasks import views as tasks
from runs.exports import views as exports
from runs.imports import views as imports
from runs.interface import lists
from runs.interface.requests import view_at
from runs.knowledge.hints import pages as hints
from runs.knowledge.web import views as knowledge
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
from runs.viewer.run_list import views as run_list

app_name = "runs"
urlpatterns = [
    # accounts
    view_at("acts/", audit_log_pages.audit_log),
    re_path(
        r"^acts\.(?P<ending>csv|jsonl)$", audit_log_pages.audit_log_file, name="audit_log_file"
    ),
    view_at("tokens/", tokens.token_list),
    view_at("tokens/<int:pk>/revoke/", tokens.token_revoke),
    # imports
    view_at("imports/", imports.import_list),
    view_at("imports/<uuid:job_id>/", imports.import_detail),
    view_at("imports/<uuid:job_id>/decide/", imports.import_decide),
    view_at("imports/<uuid:job_id>/again/", imports.import_read_again),
    view_at("imports/<uuid:job_id>/forget/", imports.import_forget),
    # exports
    view_at("runs/export/", exports.run_export_selected),
    view_at("runs/<uuid:run_id>/export/", exports.run_export),
    # viewer
    view_at("runs/", run_list.run_list),
    view_at("runs/count/", run_list.run_count),
    view_at("runs/facets/", run_list.run_facets),
    view_at("runs/matching/", run_list.run_matching),
    view_at("runs/prefetch-rules/", run_list.prefetch_rules),
    view_at("runs/columns/", lists.list_columns),
    view_at("runs/views/", lists.view_save),
    view_at("runs/views/<int:pk>/delete/", lists.view_delete),
    view_at("runs/views/<int:pk>/default/", lists.view_default),
    view_at("runs/<uuid:run_id>/preview/", run_list.run_preview),
    view_at("runs/compare/", run_compare.run_compare),
    view_at("runs/<uuid:run_id>/", run_page.run_detail),
    view_at("runs/<uuid:run_id>/live/", run_page.run_live),
    view_at("runs/<uuid:run_id>/steps/", run_page.run_steps),
    view_at("runs/<uuid:run_id>/steps/<int:index>/", run_page.run_step),
    view_at("runs/<uuid:run_id>/steps/<int:index>/screen/", run_page.run_screen),
    view_at("runs/<uuid:run_id>/steps/<int:index>/calls/", run_page.run_calls),
    view_at("runs/<uuid:run_id>/compare/", run_compare.run_compare_choices),
    view_at("runs/<uuid:run_id>/files/", run_page.run_files),
    view_at("runs/<uuid:run_id>/blobs/<slug:sha256>/", blobs.run_blob),
    view_at("jobs/", jobs.job_drawer),
    view_at("jobs/count/", jobs.job_count),
    # launching
    view_at("reruns/", reruns.rerun_list),
    view_at("reruns/live/", reruns.live_wall),
    view_at("reruns/cancel/", reruns.rerun_cancel_own),
    view_at("runs/rerun/", reruns.run_rerun_selected),
    view_at("runs/<uuid:run_id>/rerun/", reruns.run_rerun),
    view_at("runs/<uuid:run_id>/cancel/", reruns.run_cancel),
    view_at("runs/<uuid:run_id>/retry/", reruns.run_retry),
    view_at("experiments/", experiments.experiment_list),
    view_at("experiments/new/", experiments.experiment_new),
    view_at("experiments/<int:pk>/progress/", experiments.experiment_progress),
    view_at("experiments/<int:pk>/pause/", experiments.experiment_pause),
    view_at("experiments/<int:pk>/resume/", experiments.experiment_resume),
    view_at("experiments/<int:pk>/cancel/", experiments.experiment_cancel),
    view_at("policies/", policies.policy_list),
    view_at("policies/new/", policies.policy_new),
    view_at("policies/preview/", policies.policy_preview),
    view_at("policies/reruns/", policy_reruns.policy_reruns),
    view_at("policies/<int:pk>/", policies.policy_detail),
    view_at("policies/<int:pk>/edit/", policies.policy_edit),
    view_at("experiments/hints/new/", hint_experiment_new),
    # operations
    view_at("storage/", space.space),
    view_at("storage/measure/", space.space_measure),
    view_at("storage/experiments/<int:experiment_id>/", retention.retention),
    view_at("storage/experiments/<int:experiment_id>/limits/", retention.retention_limits),
    view_at("storage/experiments/<int:experiment_id>/archive/", retention.retention_archive),
    view_at("storage/experiments/<int:experiment_id>/restore/", retention.retention_restore),
    view_at("storage/experiments/<int:experiment_id>/delete/", retention.retention_delete),
    view_at("reruns/infrastructure/", infrastructure.infrastructure),
    view_at("reruns/infrastructure/sites/", infrastructure.infrastructure_sites),
    # catalogue
    view_at("tasks/", tasks.task_list),
    view_at("tasks/<int:task_id>/preview/", tasks.task_preview),
    view_at("tasks/menu/", tasks.task_menu),
    view_at("tasks/<int:task_id>/", tasks.task_detail),
    view_at("tasks/sets/<int:set_id>/", tasks.task_set_detail),
    view_at("tasks/<int:task_id>/milestones/", milestones.task_milestones),
    view_at("tasks/<int:task_id>/milestones/import/", milestones.task_milestones_import),
    view_at("tasks/<int:task_id>/milestones.json", milestones.task_milestones_file),
    path(
        "tasks/sets/<int:set_id>/milestones/", milestones.set_milestones_page, name="set_milestones"
    ),
    view_at("tasks/sets/<int:set_id>/milestones.json", milestones.set_milestones_file),
    # knowledge
    view_at("hints/", hints.hint_list),
    view_at("hints/jobs/<uuid:job_id>/", hints.hint_job),
    view_at("hints/jobs/<uuid:job_id>/cancel/", hints.hint_job_cancel),
    view_at("hints/jobs/<uuid:job_id>/resume/", hints.hint_job_resume),
    view_at("hints/<int:hint_id>/", hints.hint_detail),
    view_at("knowledge/", knowledge.knowledge_list),
    view_at("knowledge/extract/", knowledge.knowledge_extract),
    view_at("knowledge/<int:pk>/", knowledge.knowledge_detail),
    view_at("knowledge/<int:pk>/summarise/", knowledge.knowledge_summarise),
    view_at("knowledge/entries/<int:pk>/", knowledge.knowledge_entry),
    view_at("knowledge/entries/<int:pk>/switch/", knowledge.knowledge_switch),
    view_at("learning/<uuid:job_id>/", knowledge.learning_job),
    view_at("learning/<uuid:job_id>/cancel/", knowledge.learning_cancel),
    view_at("learning/<uuid:job_id>/resume/", knowledge.learning_resume),
]
