"""The door of the annotation pages: the study's annotators, each for their own work."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.utils import timezone

from judging.models import Assignment, Study, StudyMember
from judging.services.assignment import lock_study
from runs.addresses import read_number
from runs.querysets.prepared import Prepared, moment, number
from runs.views.fragments import AppRequest

P = ParamSpec("P")
View = Callable[..., HttpResponse]


def for_annotators(view: Callable[Concatenate[AppRequest, Study, P], HttpResponse]) -> View:
    """Lets in the annotators of the study; for everybody else the page does not exist."""

    @wraps(view)
    def guarded(
        request: AppRequest, study_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        study = _OWN_STUDY.first(user=request.user.pk, study=study_id)
        if study is None:
            raise Http404
        return view(request, study, *args, **kwargs)

    return guarded


_OWN_STUDY = Prepared(
    lambda: Study.objects.filter(
        members__user=number("user"),
        members__left_at=None,
        members__part=StudyMember.Part.ANNOTATOR,
        pk=number("study"),
    )
)


def _own_assignment() -> QuerySet[Assignment]:
    return Assignment.objects.select_related("item__study").filter(
        pk=number("assignment"),
        user=number("user"),
        item__study=number("study"),
        item__study__members__user=number("user"),
        item__study__members__left_at=None,
        item__study__members__part=StudyMember.Part.ANNOTATOR,
    )


def _own_locked() -> QuerySet[Assignment]:
    return _own_assignment().select_for_update(of=("item", "self"), no_key=True)


_OWN_ASSIGNMENT = Prepared(_own_assignment)
_OWN_LOCKED = Prepared(_own_locked)
_OWN_IN_HAND = Prepared(lambda: _own_locked().filter(leased_until__gt=moment("now")))


def for_assigned(view: Callable[Concatenate[AppRequest, Assignment, P], HttpResponse]) -> View:
    """As `for_annotators`, with the person's own assignment that the posted form is about.

    Assignment, run and study come by one query.
    """

    @wraps(view)
    def guarded(
        request: AppRequest, study_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        own = _OWN_ASSIGNMENT.first(**_asked(request, study_id))
        if own is None:
            raise Http404
        return view(request, own, *args, **kwargs)

    return guarded


def for_holder(view: Callable[Concatenate[AppRequest, Assignment, P], HttpResponse]) -> View:
    """As `for_assigned`, in a transaction in which nobody else changes assignment or run.

    So what is posted is checked against what still holds when it is stored, and both are read once.
    """

    @wraps(view)
    @transaction.atomic
    def guarded(
        request: AppRequest, study_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        asked = _asked(request, study_id)
        own = _OWN_IN_HAND.first(now=timezone.now(), **asked)
        if own is None and _OWN_ASSIGNMENT.first(**asked):
            # The place may be given to somebody else at this moment.
            lock_study(study_id)
            own = _OWN_LOCKED.first(**asked)
        if own is None:
            raise Http404
        return view(request, own, *args, **kwargs)

    return guarded


def _asked(request: AppRequest, study_id: int) -> dict[str, Any]:
    asked = read_number(request.POST.get("assignment", ""))
    if asked is None:
        raise Http404
    return {"assignment": asked, "user": request.user.pk, "study": study_id}
