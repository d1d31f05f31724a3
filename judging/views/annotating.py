"""The door of the annotation pages: the study's annotators, each for their own work."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpResponse
from django.shortcuts import get_object_or_404

from judging.models import Assignment, Study, StudyMember
from runs.addresses import read_number
from runs.views.fragments import AppRequest

P = ParamSpec("P")
View = Callable[..., HttpResponse]


def for_annotators(view: Callable[Concatenate[AppRequest, Study, P], HttpResponse]) -> View:
    """Lets in the annotators of the study; for everybody else the page does not exist."""

    @wraps(view)
    def guarded(
        request: AppRequest, study_id: int, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        own = Study.objects.of(request.user, part=StudyMember.Part.ANNOTATOR)
        return view(request, get_object_or_404(own, pk=study_id), *args, **kwargs)

    return guarded


def own_assignment(request: AppRequest, study: Study) -> Assignment:
    """The assignment that the posted form is about; 404 where it is not the person's own."""
    assignment = get_object_or_404(
        Assignment.objects.select_related("item"),
        pk=read_number(request.POST.get("assignment", "")),
        user=request.user,
        item__study=study,
    )
    assignment.item.study = study
    return assignment
