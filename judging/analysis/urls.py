"""Addresses of analyses: audits, experiments, progress, hints, failures and their causes."""

from django.urls import path

from judging.analysis.audits import compare_views as audit_compare
from judging.analysis.audits import people_views as audit_people
from judging.analysis.audits import run_views as audit_runs
from judging.analysis.audits import verdict_views as audit_verdicts
from judging.analysis.audits import views as audit
from judging.analysis.audits import whatif_views as whatif
from judging.analysis.causes import views as causes
from judging.analysis.experiments import compare_views as experiment_compare
from judging.analysis.experiments import views as experiments
from judging.analysis.failure_modes import views as failure_modes
from judging.analysis.hint_effects import views as hint_effects
from judging.analysis.hint_effects import writing_views as hint_writing
from judging.analysis.milestone_proposals import views as milestone_proposals
from judging.analysis.miniwob import views as failure_causes
from judging.analysis.progress import views as experiment_progress

urlpatterns = [
    path("experiments/compare/", experiment_compare.experiment_compare, name="experiment_compare"),
    path(
        "experiments/compare.<slug:ending>",
        experiment_compare.experiment_compare_file,
        name="experiment_compare_file",
    ),
    path(
        "experiments/<int:experiment_id>/", experiments.experiment_detail, name="experiment_detail"
    ),
    path(
        "experiments/<int:experiment_id>/freshness/",
        experiments.experiment_freshness,
        name="experiment_freshness",
    ),
    path(
        "experiments/<int:experiment_id>/parts/<slug:name>/",
        experiments.experiment_part,
        name="experiment_part",
    ),
    path(
        "experiments/<int:experiment_id>/progress-rates/",
        experiment_progress.experiment_progress_rates,
        name="experiment_progress_rates",
    ),
    path(
        "experiments/<int:experiment_id>/progress-rates/<slug:name>.<slug:ending>",
        experiment_progress.experiment_progress_table,
        name="experiment_progress_table",
    ),
    path(
        "experiments/<int:experiment_id>/runs/", experiments.experiment_runs, name="experiment_runs"
    ),
    path(
        "experiments/<int:experiment_id>/runs.<slug:ending>",
        experiments.experiment_runs_file,
        name="experiment_runs_file",
    ),
    path(
        "experiments/<int:experiment_id>/tables/<slug:name>.<slug:ending>",
        experiments.experiment_table,
        name="experiment_table",
    ),
    path(
        "experiments/<int:experiment_id>/report.<slug:ending>",
        experiments.experiment_report,
        name="experiment_report",
    ),
    path(
        "experiments/<int:experiment_id>/pictures/<slug:name>.svg",
        experiments.experiment_picture,
        name="experiment_picture",
    ),
    path(
        "experiments/<int:experiment_id>/controls/",
        experiments.controls_launch,
        name="controls_launch",
    ),
    path("hints/write/", hint_writing.hint_write, name="hint_write"),
    path("experiments/<int:experiment_id>/hints/", hint_effects.hint_report, name="hint_report"),
    path(
        "experiments/<int:experiment_id>/hints/cells/<slug:level>/<slug:relatedness>/",
        hint_effects.hint_cell,
        name="hint_cell",
    ),
    path(
        "experiments/<int:experiment_id>/hints/tables/<slug:name>.<slug:ending>",
        hint_effects.hint_table,
        name="hint_table",
    ),
    path(
        "experiments/<int:experiment_id>/hints/pictures/<slug:name>.svg",
        hint_effects.hint_picture,
        name="hint_picture",
    ),
    path("runs/<uuid:run_id>/failure-cause/", failure_causes.failure_cause, name="failure_cause"),
    path(
        "experiments/<int:experiment_id>/failure-causes/",
        failure_causes.failure_causes,
        name="failure_causes",
    ),
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
    path("audit/", audit.audit_home, name="audit_home"),
    path("studies/<int:study_id>/audit/", audit.audit, name="audit"),
    path("studies/<int:study_id>/audit/pictures/", audit.audit_pictures, name="audit_pictures"),
    path("studies/<int:study_id>/audit/figures/", audit.audit_figures, name="audit_figures"),
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
    path(
        "tasks/<int:task_id>/milestones/proposals/",
        milestone_proposals.milestone_proposals,
        name="milestone_proposals",
    ),
    path(
        "tasks/<int:task_id>/milestones/proposals/start/",
        milestone_proposals.milestone_proposals_start,
        name="milestone_proposals_start",
    ),
    path(
        "tasks/<int:task_id>/milestones/proposals/cancel/",
        milestone_proposals.milestone_proposals_cancel,
        name="milestone_proposals_cancel",
    ),
    path(
        "tasks/<int:task_id>/milestones/proposals/decide/",
        milestone_proposals.milestone_proposals_decide,
        name="milestone_proposals_decide",
    ),
    path("studies/<int:study_id>/audit/what-if/", whatif.what_if, name="what_if"),
    path("studies/<int:study_id>/audit/what-if/rules/", whatif.what_if_rules, name="what_if_rules"),
    path("studies/<int:study_id>/audit/what-if/save/", whatif.what_if_save, name="what_if_save"),
]
