"""Who may read the audit of a study."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from judging.models import Study, StudyItem
from runs.models import User
from runs.models.visibility import run_policy

AUDIT = "judging.view_audit"
EVALUATE = "judging.add_evaluation"


def studies_hidden_from(user: User) -> QuerySet[Study]:
    """Studies that hold a run on which the person is still blind, in this study or another.

    Figures over the other runs would tell something of that one, so there are none at all.
    """
    blind = run_policy().blind_runs(user)
    if blind is None:
        return Study.objects.none()
    items = StudyItem.objects.filter(study=OuterRef("pk"), run__in=blind.values("pk"))
    return Study.objects.filter(Exists(items))
