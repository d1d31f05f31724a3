"""Jobs in progress: the number in the top bar and the drawer behind it."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from runs.interface.fragments import AppRequest, wants_partial
from runs.queue.jobs import jobs_in_progress


@require_safe
def job_count(request: AppRequest) -> HttpResponse:
    """How many runs and other jobs are in progress, as a fragment that asks again by itself."""
    return render(request, "runs/queue/_job_count.html", {"jobs": jobs_in_progress(request.user)})


@require_safe
@vary_on_headers("HX-Request")
def job_drawer(request: AppRequest) -> HttpResponse:
    """Each of them with its state, as a fragment that asks again while it is open, or as a page."""
    name = "_job_drawer" if wants_partial(request) else "job_list"
    return render(request, f"runs/queue/{name}.html", {"jobs": jobs_in_progress(request.user)})
