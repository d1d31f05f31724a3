"""Who may read the figures of an experiment."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from judging.audits.access import AUDIT
from runs.models import Experiment, Run, User
from runs.visibility import run_policy

VIEW = "runs.view_experiment"
PERMISSIONS = (VIEW, AUDIT)
"""Figures tell verdicts, so they are for those who may read audits."""


def experiments_shown_to(user: User) -> QuerySet[Experiment]:
    """Experiments without those that hold only runs whose agent is hidden from the person."""
    anonymous = run_policy().anonymous(user)
    if anonymous is None:
        return Experiment.objects.all()
    runs = Run.objects.filter(experiment=OuterRef("pk"))
    return Experiment.objects.filter(~Exists(runs) | Exists(runs.exclude(anonymous)))
