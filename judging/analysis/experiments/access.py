"""Who may read the figures of an experiment."""

from judging.studies.access import AUDIT

PERMISSIONS = ("runs.view_experiment", AUDIT)
"""Figures tell verdicts, so they are for those who may read audits."""
