"""Who may read figures of a study, for the API: the same as on its pages."""

from __future__ import annotations

from judging.models import Study
from judging.studies.access import AUDIT, EVALUATE, studies_hidden_from
from runs.api.authentication import ApiRequest, Bearer
from runs.api.problems import Problem, not_found
from runs.models import Scope

READS = Bearer(Scope.VERDICTS_READ, AUDIT)
LAUNCHES = Bearer(Scope.EVALUATIONS_LAUNCH, AUDIT, EVALUATE)


def audited_study(request: ApiRequest, study_id: int) -> Study:
    """The study, for a caller who is blind on no run of it.

    Raises:
        Problem: 404 where there is none, 403 while the caller still judges a run of it.
    """
    study = Study.objects.filter(pk=study_id).first()
    if study is None:
        raise not_found("study")
    if studies_hidden_from(request.user).filter(pk=study_id).exists():
        raise Problem(
            403,
            "You still judge a run of this study, so no figure of it is told to you yet.",
            kind="blind",
        )
    return study
