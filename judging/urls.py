"""Every address of judging, feature by feature."""

from collections.abc import Callable
from typing import Any

from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver, include, path

from judging.analysis.audits import run_views as audit_runs
from judging.analysis.audits import studies as audited
from judging.analysis.audits import verdict_views as audit_verdicts
from judging.analysis.audits import views as audit
from judging.analysis.audits.comparing import evaluator_views as audit_compare
from judging.analysis.audits.comparing import study_views as beside
from judging.analysis.audits.people import views as audit_people
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
from judging.desk import views as desk
from judging.evaluating import views as batches
from judging.portability import views as downloads
from judging.portability.label_imports import views as label_imports
from judging.replication import views as replications
from judging.studies import views as studies
from judging.studies.disputes import views as disputes
from judging.studies.labels import views as annotate

app_name = "judging"

people = [
    path("", desk.home, name="home"),
    path("palette/", desk.palette, name="palette"),
    path("demo/", demo_load, name="demo_load"),
    path("audit/newest/", desk.audit_newest, name="audit_newest"),
    path("studies/", studies.study_list, name="study_list"),
    path("studies/new/", studies.study_create, name="study_create"),
    path("studies/<int:study_id>/", studies.study_detail, name="study_detail"),
    path("studies/<int:study_id>/close/", studies.study_close, name="study_close"),
    path("studies/<int:study_id>/guidelines/", studies.guidelines, name="guidelines"),
    path("studies/<int:study_id>/members/", studies.member_add, name="member_add"),
    path(
        "studies/<int:study_id>/members/<int:user_id>/remove/",
        studies.member_remove,
        name="member_remove",
    ),
    path("studies/<int:study_id>/annotate/", annotate.annotate, name="annotate"),
    path(
        "studies/<int:study_id>/annotate/<uuid:run_id>/", annotate.annotate_run, name="annotate_run"
    ),
    path(
        "studies/<int:study_id>/annotate/<uuid:run_id>/examples/",
        annotate.label_examples,
        name="label_examples",
    ),
    path("studies/<int:study_id>/annotate/draft/", annotate.draft_save, name="draft_save"),
    path("studies/<int:study_id>/annotate/skip/", annotate.label_skip, name="label_skip"),
    path("studies/<int:study_id>/annotate/undo/", annotate.label_undo, name="label_undo"),
    path("studies/<int:study_id>/annotate/comments/", annotate.step_comment, name="step_comment"),
    path("disputes/", disputes.dispute_list, name="dispute_list"),
    path("disputes/overruled/", disputes.overruled, name="overruled"),
    path("disputes/<int:dispute_id>/", disputes.dispute_detail, name="dispute_detail"),
    path("disputes/<int:dispute_id>/messages/", disputes.dispute_message, name="dispute_message"),
    path("disputes/<int:dispute_id>/decide/", disputes.dispute_decide, name="dispute_decide"),
]
evaluations = [
    path("studies/<int:study_id>/audit/evaluate/", batches.audit_evaluate, name="audit_evaluate"),
    path("audit/evaluate/", batches.runs_evaluate, name="runs_evaluate"),
    path("audit/batches/", batches.batch_list, name="batch_list"),
    path("audit/batches/<uuid:batch_id>/", batches.batch_detail, name="batch_detail"),
    path("audit/batches/<uuid:batch_id>/cancel/", batches.batch_cancel, name="batch_cancel"),
    path("audit/batches/<uuid:batch_id>/resume/", batches.batch_resume, name="batch_resume"),
]
files = [
    path(
        "studies/<int:study_id>/data/<slug:name>.<slug:ending>",
        downloads.study_data,
        name="study_data",
    ),
    path(
        "experiments/<int:experiment_id>/data/<slug:name>.<slug:ending>",
        downloads.experiment_data,
        name="experiment_data",
    ),
    path(
        "studies/<int:study_id>/downloads/",
        downloads.study_downloads,
        name="study_downloads",
    ),
    path(
        "studies/<int:study_id>/downloads/<uuid:download_id>/",
        downloads.study_download_file,
        name="study_download_file",
    ),
    path(
        "studies/<int:study_id>/downloads/<uuid:download_id>/cancel/",
        downloads.study_download_cancel,
        name="study_download_cancel",
    ),
    path("studies/labels/", label_imports.label_import_list, name="label_import_list"),
    path(
        "studies/labels/<uuid:import_id>/",
        label_imports.label_import_detail,
        name="label_import_detail",
    ),
    path(
        "studies/labels/<uuid:import_id>/decide/",
        label_imports.label_import_decide,
        name="label_import_decide",
    ),
]
TABLE = "<slug:name>.<slug:ending>"


def table(registry: Registry[Facts]) -> tuple[Callable[..., HttpResponseBase], dict[str, Any]]:
    """The view of the registry's reports as files."""
    return experiments.experiment_table, {"registry": registry}


of_experiment = [
    path("", experiments.experiment_detail, name="experiment_detail"),
    path("freshness/", experiments.experiment_freshness, name="experiment_freshness"),
    path("parts/<slug:name>/", experiments.experiment_part, name="experiment_part"),
    path(
        "progress-rates/", experiments.experiment_progress_rates, name="experiment_progress_rates"
    ),
    path("progress-rates/" + TABLE, *table(PROGRESS), name="experiment_progress_table"),
    path("runs/", experiments.experiment_runs, name="experiment_runs"),
    path("runs.<slug:ending>", experiments.experiment_runs_file, name="experiment_runs_file"),
    path("tables/" + TABLE, *table(EXPERIMENT), name="experiment_table"),
    path("report.<slug:ending>", experiments.experiment_report, name="experiment_report"),
    path("pictures/<slug:name>.svg", experiments.experiment_picture, name="experiment_picture"),
    path("controls/", experiments.controls_launch, name="controls_launch"),
    path("hints/", hint_effects.hint_report, name="hint_report"),
    path("hints/cells/<slug:level>/<slug:relatedness>/", hint_effects.hint_cell, name="hint_cell"),
    path("hints/tables/" + TABLE, *table(HINTS), name="hint_table"),
    path("hints/pictures/<slug:name>.svg", hint_effects.hint_picture, name="hint_picture"),
    path("failure-causes/", failure_causes.failure_causes, name="failure_causes"),
]
proposals = [
    path("", milestone_proposals.milestone_proposals, name="milestone_proposals"),
    path("start/", milestone_proposals.milestone_proposals_start, name="milestone_proposals_start"),
    path(
        "cancel/", milestone_proposals.milestone_proposals_cancel, name="milestone_proposals_cancel"
    ),
    path(
        "decide/", milestone_proposals.milestone_proposals_decide, name="milestone_proposals_decide"
    ),
]
analyses: list[URLPattern | URLResolver] = [
    path("experiments/compare/", experiments.experiment_compare, name="experiment_compare"),
    path(
        "experiments/compare.<slug:ending>",
        experiments.experiment_compare_file,
        name="experiment_compare_file",
    ),
    path("experiments/<int:experiment_id>/", include(of_experiment)),
    path("hints/write/", hint_writing.hint_write, name="hint_write"),
    path("runs/<uuid:run_id>/failure-cause/", failure_causes.failure_cause, name="failure_cause"),
    path("runs/<uuid:run_id>/failure/", failure_modes.failure_review, name="failure_review"),
    path("failures/", failure_modes.failure_reviews, name="failure_reviews"),
    path(
        "studies/<int:study_id>/audit/failures/",
        failure_modes.audit_failures,
        name="audit_failures",
    ),
    path(
        "studies/<int:study_id>/audit/failures/runs/",
        failure_modes.audit_failure_runs,
        name="audit_failure_runs",
    ),
    path("studies/<int:study_id>/audit/causes/", causes.audit_causes, name="audit_causes"),
    path(
        "studies/<int:study_id>/audit/<int:evaluator_id>/causes.svg",
        causes.audit_causes_picture,
        name="audit_causes_picture",
    ),
    path(
        "studies/<int:study_id>/audit/<int:evaluator_id>/causes/<uuid:run_id>/",
        causes.cause_tag,
        name="cause_tag",
    ),
    path(
        "studies/<int:study_id>/audit/<int:evaluator_id>/cells/<slug:cells>/causes/",
        causes.cause_tag_selected,
        name="cause_tag_selected",
    ),
    path(
        "studies/<int:study_id>/audit/<int:evaluator_id>/cells/<slug:cells>/causes/undo/",
        causes.cause_undo,
        name="cause_undo",
    ),
    path("audit/", audited.audit_home, name="audit_home"),
    path("studies/<int:study_id>/audit/", audit.audit, name="audit"),
    path("studies/<int:study_id>/audit/pictures/", audit.audit_pictures, name="audit_pictures"),
    path("studies/<int:study_id>/audit/figures/", audit.audit_figures, name="audit_figures"),
    path("studies/<int:study_id>/audit/repairs/", audit.audit_repairs, name="audit_repairs"),
    path("studies/<int:study_id>/audit/agreement/", audit.audit_agreement, name="audit_agreement"),
    path(
        "studies/<int:study_id>/audit/triangle/",
        audit_verdicts.audit_triangle,
        name="audit_triangle",
    ),
    path(
        "studies/<int:study_id>/audit/triangle.<slug:ending>",
        audit_verdicts.audit_triangle_file,
        name="audit_triangle_file",
    ),
    path(
        "studies/<int:study_id>/audit/compare/", audit_compare.audit_compare, name="audit_compare"
    ),
    path(
        "studies/<int:study_id>/audit/compare.<slug:ending>",
        audit_compare.audit_compare_file,
        name="audit_compare_file",
    ),
    path("studies/<int:study_id>/audit/beside/", beside.audit_beside, name="audit_beside"),
    path(
        "studies/<int:study_id>/audit/beside/<slug:name>.<slug:ending>",
        beside.audit_beside_file,
        name="audit_beside_file",
    ),
    path("studies/<int:study_id>/audit/pairs/", audit_compare.audit_pairs, name="audit_pairs"),
    path(
        "studies/<int:study_id>/audit/detectors/",
        audit_people.audit_detectors,
        name="audit_detectors",
    ),
    path(
        "studies/<int:study_id>/audit/progress/",
        audit_people.audit_progress,
        name="audit_progress",
    ),
    path(
        "studies/<int:study_id>/audit/progress/<slug:name>.<slug:ending>",
        audit_people.audit_progress_table,
        name="audit_progress_table",
    ),
    path("studies/<int:study_id>/audit/people/", audit_people.audit_people, name="audit_people"),
    path(
        "studies/<int:study_id>/audit/left-out/<slug:group>/",
        audit_runs.audit_left_out,
        name="audit_left_out",
    ),
    path(
        "studies/<int:study_id>/audit/report.<slug:ending>", audit.audit_report, name="audit_report"
    ),
    path(
        "studies/<int:study_id>/audit/tables/<slug:name>.<slug:ending>",
        audit.audit_table,
        name="audit_table",
    ),
    path(
        "studies/<int:study_id>/audit/pictures/<slug:name>.svg",
        audit.audit_picture,
        name="audit_picture",
    ),
    path(
        "studies/<int:study_id>/audit/<int:evaluator_id>/cells/<slug:cells>/",
        audit_runs.audit_cells,
        name="audit_cells",
    ),
    path(
        "studies/<int:study_id>/audit/<int:evaluator_id>/cells/<slug:cells>.<slug:ending>",
        audit_runs.audit_cells_file,
        name="audit_cells_file",
    ),
    path("runs/<uuid:run_id>/judgements/", audit_runs.run_judgements, name="run_judgements"),
    path("tasks/<int:task_id>/milestones/proposals/", include(proposals)),
    path("studies/<int:study_id>/audit/what-if/", whatif.what_if, name="what_if"),
    path("studies/<int:study_id>/audit/what-if/rules/", whatif.what_if_rules, name="what_if_rules"),
    path("studies/<int:study_id>/audit/what-if/save/", whatif.what_if_save, name="what_if_save"),
]

of_replication = [
    path("", replications.replication_detail, name="replication_detail"),
    path("progress/", replications.replication_progress, name="replication_progress"),
    path("run/", replications.replication_run, name="replication_run"),
    path("parts/<slug:name>/", replications.replication_part, name="replication_part"),
    path("tables/" + TABLE, replications.replication_table, name="replication_table"),
    path("report.<slug:ending>", replications.replication_report, name="replication_report"),
    path("study.toml", replications.replication_file, name="replication_file"),
]
replicated: list[URLPattern | URLResolver] = [
    path("replications/", replications.replication_list, name="replication_list"),
    path("replications/<int:replication_id>/", include(of_replication)),
]

urlpatterns: list[URLPattern | URLResolver] = [
    *people,
    *analyses,
    *evaluations,
    *replicated,
    *files,
    path("api/", api_reference, name="api_reference"),
]
