"""The door of the annotation pages: the study's annotators, each for their own work."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import Http404, HttpResponse

from judging.models import Assignment, Study, StudyMember
from judging.studies.queue.holding import held_assignment, own_assignment
from runs.interface.fragments import AppRequest
from runs.models.parsing import read_number

P = ParamSpec("P")
View = Callable[..., HttpResponse]


def for_annotators(view: Callable[Concatenate[AppRequest, Study, P], HttpResponse]) -> View:
    """Lets in the annotators of the study; for everybody else the page does not exist."""

    @wraps(view)
    def guarded(
        request: AppRequest, study_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        study = Study.objects.filter(
            members__user=request.user,
            members__left_at=None,
            members__part=StudyMember.Part.ANNOTATOR,
            pk=study_id,
        ).first()
        if study is None:
            raise Http404
        return view(request, study, *args, **kwargs)

    return guarded


def for_assigned(view: Callable[Concatenate[AppRequest, Assignment, P], HttpResponse]) -> View:
    """As `for_annotators`, with the person's own assignment that the posted form is about.

    Assignment, run and study come by one query.
    """

    @wraps(view)
    def guarded(
        request: AppRequest, study_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        own = own_assignment(**_asked(request, study_id))
        if own is None:
            raise Http404
        return view(request, own, *args, **kwargs)

    return guarded


def for_holder(view: Callable[Concatenate[AppRequest, Assignment, P], HttpResponse]) -> View:
    """As `for_assigned`, in a transaction in which nobody else changes assignment or run.

    So what is posted is checked against what still holds when it is stored, and both are read once.
    """

    @wraps(view)
    def guarded(
        request: AppRequest, study_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        with held_assignment(**_asked(request, study_id)) as own:
            if own is None:
                raise Http404
            return view(request, own, *args, **kwargs)

    return guarded


def _asked(request: AppRequest, study_id: int) -> dict[str, int]:
    asked = read_number(request.POST.get("assignment", ""))
    if asked is None:
        raise Http404
    return {"assignment": asked, "user": request.user.pk, "study": study_id}
