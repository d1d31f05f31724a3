"""The home page and the command palette."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from judging.desk.home import home_context
from judging.desk.palette import found
from runs.interface.fragments import AppRequest


@require_safe
def home(request: AppRequest) -> HttpResponse:
    """What waits for the person, and what has moved since."""
    return render(request, "judging/desk/home.html", home_context(request.user))


@require_safe
@vary_on_headers("HX-Request")
def palette(request: AppRequest) -> HttpResponse:
    """Pages, actions, studies, experiments and runs that fit what was typed."""
    groups = found(request.user, request.GET.get("q", ""))
    return render(request, "judging/desk/palette.html", {"groups": groups})
