"""Addresses of audits and of what is known of a run."""

from django.urls import path

from judging.analysis.audits import compare_views as audit_compare
from judging.analysis.audits import detector_views as audit_detectors
from judging.analysis.audits import progress_views as audit_progress
from judging.analysis.audits import run_views as audit_runs
from judging.analysis.audits import triangle_views as audit_triangle
from judging.analysis.audits import views as audit

urlpatterns = [
    path("audit/", audit.audit_home, name="audit_home"),
    path("studies/<int:study_id>/audit/", audit.audit, name="audit"),
    path("studies/<int:study_id>/audit/pictures/", audit.audit_pictures, name="audit_pictures"),
    path("studies/<int:study_id>/audit/figures/", audit.audit_figures, name="audit_figures"),
    path("studies/<int:study_id>/audit/agreement/", audit.audit_agreement, name="audit_agreement"),
    path(
        "studies/<int:study_id>/audit/triangle/",
        audit_triangle.audit_triangle,
        name="audit_triangle",
    ),
    path(
        "studies/<int:study_id>/audit/triangle.<slug:ending>",
        audit_triangle.audit_triangle_file,
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
        audit_detectors.audit_detectors,
        name="audit_detectors",
    ),
    path(
        "studies/<int:study_id>/audit/progress/",
        audit_progress.audit_progress,
        name="audit_progress",
    ),
    path(
        "studies/<int:study_id>/audit/progress/<slug:name>.<slug:ending>",
        audit_progress.audit_progress_table,
        name="audit_progress_table",
    ),
    path("studies/<int:study_id>/audit/people/", audit_compare.audit_people, name="audit_people"),
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
]
