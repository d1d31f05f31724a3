"""News of a run that goes on, for the page that shows it."""

import re
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from runs.interface.fragments import AppRequest
from runs.models import Run
from runs.viewer.run_page.live_view import live_context, seen_of

_SEEN = re.compile(r"(\d{1,9})-")


@require_safe
def run_live(request: AppRequest, run_id: UUID) -> HttpResponse:
    """What came since the page last saw the run (`seen`); 204 where nothing did."""
    run = get_object_or_404(Run.objects.visible_to(request.user, [run_id]).defer("record"))
    seen = request.GET.get("seen", "")
    if seen == seen_of(run):
        return HttpResponse(status=204)
    found = _SEEN.match(seen)
    first = int(found[1]) if found else 0
    return render(request, "runs/viewer/_run_live.html", live_context(run, first=first))
