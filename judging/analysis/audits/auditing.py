"""The door of an audit: who may read it, and the words for those who may not."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.core.exceptions import PermissionDenied
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render

from judging.models import Study
from judging.studies.access import AUDIT, studies_hidden_from
from runs.interface.fragments import AppRequest

P = ParamSpec("P")
View = Callable[..., HttpResponseBase]


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
            return render(request, "judging/audit_refused.html", {"study": study}, status=403)
        return view(request, study, *args, **kwargs)

    return guarded
