"""What was broken on purpose, and what was found: for those who operate the site."""

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.interface.fragments import AppRequest
from runs.launching.reruns.views import may_rerun
from runs.operations.faults.reliability_page import WRITERS, reliability


@require_safe
@may_rerun
def reliability_report(request: AppRequest) -> HttpResponse:
    """Every failure with its tests, broken promises first."""
    return render(request, "runs/reliability.html", {"found": reliability()})


@require_safe
@may_rerun
def reliability_file(request: AppRequest, ending: str) -> HttpResponse:
    """The same as a file: JSON that can be loaded elsewhere, or a table."""
    found = reliability()
    if not found.records:
        raise Http404
    write, content_type = WRITERS[ending]
    response = HttpResponse(write(found), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="reliability.{ending}"'
    return response
