"""Every address of judging, feature by feature."""

from collections.abc import Callable
from typing import Any

from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, include, path

from judging.analysis.audits import run_views as audit_runs
from judging.analysis.audits import verdict_views as audit_verdicts
from judging.analysis.audits import views as audit
from judging.analysis.audits.comparing import views as comparing
from judging.analysis.audits.what_if import views as whatif
from judging.analysis.causes import views as causes
from judging.analysis.experiments import views as experiments
from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.reports import EXPERIMENT
from judging.analysis.failure_modes import views as failure_modes
from judging.analysis.hint_effects import views as hint_effects
from judging.analysis.hint_effects import writing as hint_writing
from judging.analysis.hint_effects.reports import HINTS
from judging.analysis.milestone_proposals import views as milestone_proposals
from judging.analysis.miniwob import views as failure_causes
from judging.analysis.progress.reports import PROGRESS
from judging.analysis.reports.registry import Registry
from judging.api.reference import api_reference
from judging.demo.loading import demo_load
from judging.desk import evaluators, home, palette
from judging.evaluating import views as batches
from judging.portability import views as downloads
from judging.portability.label_imports import views as label_imports
from judging.replication import views as replications
from judging.studies import views as studies
from judging.studies.disputes import views as disputes
from judging.studies.labels import views as annotate
from runs.interface.requests import view_at

app_name = "judging"

people = [
    view_at("", home.home),
    view_at("palette/", palette.palette),
    view_at("demo/", demo_load),
    view_at("audit/newest/", evaluators.audit_newest),
    view_at("studies/", studies.study_list),
    view_at("studies/menu/", studies.study_menu),
    view_at("studies/new/", studies.study_create),
    view_at("studies/<int:study_id>/", studies.study_detail),
    view_at("studies/<int:study_id>/preview/", studies.study_preview),
    view_at("studies/<int:study_id>/close/", studies.study_close),
    view_at("studies/<int:study_id>/guidelines/", studies.guidelines),
    view_at("studies/<int:study_id>/members/", studies.member_add),
    view_at("studies/<int:study_id>/members/<int:user_id>/remove/", studies.member_remove),
    view_at("studies/<int:study_id>/annotate/", annotate.annotate),
    view_at("studies/<int:study_id>/annotate/<uuid:run_id>/", annotate.annotate_run),
    view_at("studies/<int:study_id>/annotate/<uuid:run_id>/examples/", annotate.label_examples),
    view_at("studies/<int:study_id>/annotate/draft/", annotate.draft_save),
    view_at("studies/<int:study_id>/annotate/cancel/", annotate.change_cancel),
    view_at("studies/<int:study_id>/annotate/skip/", annotate.label_skip),
    view_at("studies/<int:study_id>/annotate/undo/", annotate.label_undo),
    view_at("studies/<int:study_id>/annotate/comments/", annotate.step_comment),
    view_at("disputes/", disputes.dispute_list),
    view_at("disputes/menu/", disputes.dispute_menu),
    view_at("disputes/overruled/", disputes.overruled),
    view_at("disputes/<int:dispute_id>/", disputes.dispute_detail),
    view_at("disputes/<int:dispute_id>/messages/", disputes.dispute_message),
    view_at("disputes/<int:dispute_id>/decide/", disputes.dispute_decide),
]
evaluations = [
    view_at("studies/<int:study_id>/audit/evaluate/", batches.audit_evaluate),
    view_at("audit/evaluate/", batches.runs_evaluate),
    view_at("audit/batches/", batches.batch_list),
    view_at("audit/batches/<uuid:batch_id>/", batches.batch_detail),
    view_at("audit/batches/<uuid:batch_id>/cancel/", batches.batch_cancel),
    view_at("audit/batches/<uuid:batch_id>/resume/", batches.batch_resume),
]
files = [
    view_at("studies/<int:study_id>/data/<slug:name>.<slug:ending>", downloads.study_data),
    view_at(
        "experiments/<int:experiment_id>/data/<slug:name>.<slug:ending>", downloads.experiment_data
    ),
    view_at("studies/<int:study_id>/downloads/", downloads.study_downloads),
    view_at("studies/<int:study_id>/downloads/<uuid:download_id>/", downloads.study_download_file),
    view_at(
        "studies/<int:study_id>/downloads/<uuid:download_id>/cancel/",
        downloads.study_download_cancel,
    ),
    view_at("studies/labels/", label_imports.label_import_list),
    view_at("studies/labels/<uuid:import_id>/", label_imports.label_import_detail),
    view_at("studies/labels/<uuid:import_id>/decide/", label_imports.label_import_decide),
]
TABLE = "<slug:name>.<slug:ending>"


def table(registry: Registry[Facts]) -> tuple[Callable[..., HttpResponseBase], dict[str, Any]]:
    """The view of the registry's reports as files."""
    return experiments.experiment_table, {"registry": registry}


of_experiment = [
    view_at("", experiments.experiment_detail),
    view_at("freshness/", experiments.experiment_freshness),
    view_at("parts/<slug:name>/", experiments.experiment_part),
    view_at("progress-rates/", experiments.experiment_progress_rates),
    path("progress-rates/" + TABLE, *table(PROGRESS), name="experiment_progress_table"),
    view_at("runs/", experiments.experiment_runs),
    view_at("runs.<slug:ending>", experiments.experiment_runs_file),
    path("tables/" + TABLE, *table(EXPERIMENT), name="experiment_table"),
    view_at("report.<slug:ending>", experiments.experiment_report),
    view_at("pictures/<slug:name>.svg", experiments.experiment_picture),
    view_at("controls/", experiments.controls_launch),
    view_at("hints/", hint_effects.hint_report),
    view_at("hints/cells/<slug:level>/<slug:relatedness>/", hint_effects.hint_cell),
    path("hints/tables/" + TABLE, *table(HINTS), name="hint_table"),
    view_at("hints/pictures/<slug:name>.svg", hint_effects.hint_picture),
    view_at("failure-causes/", failure_causes.failure_causes),
]
proposals = [
    view_at("", milestone_proposals.milestone_proposals),
    view_at("start/", milestone_proposals.milestone_proposals_start),
    view_at("cancel/", milestone_proposals.milestone_proposals_cancel),
    view_at("decide/", milestone_proposals.milestone_proposals_decide),
]
analyses: list[URLPattern | URLResolver] = [
    view_at("experiments/compare/", experiments.experiment_compare),
    view_at("experiments/compare.<slug:ending>", experiments.experiment_compare_file),
    path("experiments/<int:experiment_id>/", include(of_experiment)),
    view_at("hints/write/", hint_writing.hint_write),
    view_at("runs/<uuid:run_id>/failure-cause/", failure_causes.failure_cause),
    view_at("runs/<uuid:run_id>/failure/", failure_modes.failure_review),
    view_at("failures/", failure_modes.failure_reviews),
    view_at("studies/<int:study_id>/audit/failures/", failure_modes.audit_failures),
    view_at("studies/<int:study_id>/audit/failures/runs/", failure_modes.audit_failure_runs),
    view_at("studies/<int:study_id>/audit/causes/", causes.audit_causes),
    view_at(
        "studies/<int:study_id>/audit/<int:evaluator_id>/causes.svg", causes.audit_causes_picture
    ),
    view_at(
        "studies/<int:study_id>/audit/<int:evaluator_id>/causes/<uuid:run_id>/", causes.cause_tag
    ),
    view_at(
        "studies/<int:study_id>/audit/<int:evaluator_id>/cells/<slug:cells>/causes/",
        causes.cause_tag_selected,
    ),
    view_at(
        "studies/<int:study_id>/audit/<int:evaluator_id>/cells/<slug:cells>/causes/undo/",
        causes.cause_undo,
    ),
    view_at("audit/", audit.audit_home),
    view_at("studies/<int:study_id>/audit/", audit.audit),
    view_at("studies/<int:study_id>/audit/pictures/", audit.audit_pictures),
    view_at("studies/<int:study_id>/audit/figures/", audit.audit_figures),
    view_at("studies/<int:study_id>/audit/repairs/", audit.audit_repairs),
    view_at("studies/<int:study_id>/audit/agreement/", audit.audit_agreement),
    view_at("studies/<int:study_id>/audit/triangle/", audit_verdicts.audit_triangle),
    view_at(
        "studies/<int:study_id>/audit/triangle.<slug:ending>", audit_verdicts.audit_triangle_file
    ),
    view_at("studies/<int:study_id>/audit/compare/", comparing.audit_compare),
    view_at("studies/<int:study_id>/audit/compare.<slug:ending>", comparing.audit_compare_file),
    view_at("studies/<int:study_id>/audit/beside/", comparing.audit_beside),
    view_at(
        "studies/<int:study_id>/audit/beside/<slug:name>.<slug:ending>", comparing.audit_beside_file
    ),
    view_at("studies/<int:study_id>/audit/pairs/", comparing.audit_pairs),
    view_at("studies/<int:study_id>/audit/detectors/", audit_verdicts.audit_detectors),
    view_at("studies/<int:study_id>/audit/progress/", audit_verdicts.audit_progress),
    view_at(
        "studies/<int:study_id>/audit/progress/<slug:name>.<slug:ending>",
        audit_verdicts.audit_progress_table,
    ),
    view_at("studies/<int:study_id>/audit/people/", audit_verdicts.audit_people),
    view_at("studies/<int:study_id>/audit/left-out/<slug:group>/", audit_runs.audit_left_out),
    view_at("studies/<int:study_id>/audit/report.<slug:ending>", audit.audit_report),
    view_at("studies/<int:study_id>/audit/tables/<slug:name>.<slug:ending>", audit.audit_table),
    view_at("studies/<int:study_id>/audit/pictures/<slug:name>.svg", audit.audit_picture),
    view_at(
        "studies/<int:study_id>/audit/<int:evaluator_id>/cells/<slug:cells>/",
        audit_runs.audit_cells,
    ),
    view_at(
        "studies/<int:study_id>/audit/<int:evaluator_id>/cells/<slug:cells>.<slug:ending>",
        audit_runs.audit_cells_file,
    ),
    view_at("runs/<uuid:run_id>/judgements/", audit_runs.run_judgements),
    path("tasks/<int:task_id>/milestones/proposals/", include(proposals)),
    view_at("studies/<int:study_id>/audit/what-if/", whatif.what_if),
    view_at("studies/<int:study_id>/audit/what-if/rules/", whatif.what_if_rules),
    view_at("studies/<int:study_id>/audit/what-if/save/", whatif.what_if_save),
]

of_replication = [
    view_at("", replications.replication_detail),
    view_at("progress/", replications.replication_progress),
    view_at("run/", replications.replication_run),
    view_at("parts/<slug:name>/", replications.replication_part),
    view_at("tables/" + TABLE, replications.replication_table),
    view_at("report.<slug:ending>", replications.replication_report),
    view_at("study.toml", replications.replication_file),
]
replicated: list[URLPattern | URLResolver] = [
    view_at("replications/", replications.replication_list),
    path("replications/<int:replication_id>/", include(of_replication)),
]

urlpatterns: list[URLPattern | URLResolver] = [
    *people,
    *analyses,
    *evaluations,
    *replicated,
    *files,
    view_at("api/", api_reference),
]
