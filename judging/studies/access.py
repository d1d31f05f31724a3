"""Who may read the audit of a study."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render

from judging.models import Study, StudyItem
from runs.interface.fragments import AppRequest
from runs.models import User
from runs.models.visibility import run_policy

AUDIT = "judging.view_audit"
EVALUATE = "judging.add_evaluation"

P = ParamSpec("P")
View = Callable[..., HttpResponseBase]


def studies_hidden_from(user: User) -> QuerySet[Study]:
    """Studies that hold a run on which the person is still blind, in this study or another.

    Figures over the other runs would tell something of that one, so there are none at all.
    """
    blind = run_policy().blind_runs(user)
    if blind is None:
        return Study.objects.none()
    items = StudyItem.objects.filter(study=OuterRef("pk"), run__in=blind.values("pk"))
    return Study.objects.filter(Exists(items))


def for_auditors(view: Callable[Concatenate[AppRequest, Study, P], HttpResponseBase]) -> View:
    """Lets in who may read audits and is blind on no run of the study; the others get no figure."""

    @wraps(view)
    def guarded(
        request: AppRequest, study_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponseBase:
        if not request.user.has_perm(AUDIT):
            raise PermissionDenied
        study = get_object_or_404(Study, pk=study_id)
        if studies_hidden_from(request.user).filter(pk=study_id).exists():
            return render(
                request, "judging/studies/audit_refused.html", {"study": study}, status=403
            )
        return view(request, study, *args, **kwargs)

    return guarded
