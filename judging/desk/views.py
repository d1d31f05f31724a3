"""The home page."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from judging.desk.home import home_context
from runs.interface.fragments import AppRequest


@require_safe
def home(request: AppRequest) -> HttpResponse:
    """What waits for the person, and what has moved since."""
    return render(request, "judging/desk/home.html", home_context(request.user))
