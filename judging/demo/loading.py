"""Loading the demo from the home page: asked for, carried out by a worker, watched.

How it stands is read from the audit log and from the runs that are here, so that no row is needed
that nobody reads afterwards.
"""

from dataclasses import dataclass
from datetime import timedelta

from celery import shared_task
from django.conf import settings
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from judging.demo import DemoError
from judging.demo.services import SHIPPED, is_loaded, load_demo, n_shipped
from runs.accounts.audit_log import record_entry
from runs.interface.requests import AppRequest, needs, redirect_whole
from runs.models import AuditEntry, Run
from runs.models.audit_log import kind
from runs.queue.workers import ask_for

LOAD = "judging.tasks.load_demo"
NEEDED = ("judging.add_study", "runs.import_run")
ASKED = kind("demo.asked", gettext_lazy("asked for the demo"))
FAILED = kind("demo.failed", gettext_lazy("could not load the demo"))
LOADED = kind("demo.loaded", gettext_lazy("loaded the demo"))
PATIENCE = timedelta(minutes=15)
"""Whoever waits longer may ask again: the worker is gone."""


@shared_task(name=LOAD)
def load_asked_demo() -> None:
    """Load the demo unless it is here; the audit log says that it is, or why it cannot be."""
    try:
        if not is_loaded():
            load_demo()
    except DemoError as error:
        record_entry(FAILED, after=str(error))
    else:
        record_entry(LOADED)


@dataclass(frozen=True, slots=True)
class DemoProgress:
    """How far the demo is: runs that are here, of all; `problem` is why nothing goes on."""

    n_done: int
    n_total: int
    is_busy: bool
    problem: str


def demo_progress() -> DemoProgress:
    """How far the demo is, from the last that was said of it and the runs that are here."""
    last = AuditEntry.objects.filter(kind__in=[ASKED.name, FAILED.name, LOADED.name]).first()
    since = timezone.now() - PATIENCE
    is_busy = last is not None and last.kind == ASKED.name and last.at > since
    runs = Run.objects.filter(experiment__name__in=SHIPPED, superseded=False)
    return DemoProgress(
        n_done=runs.count() if is_busy else 0,
        n_total=n_shipped(),
        is_busy=is_busy,
        problem=last.after if last is not None and last.kind == FAILED.name else "",
    )


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@needs(*NEEDED)
def demo_load(request: AppRequest) -> HttpResponse:
    """The button that loads the demo, and then how far that is; the home page once all is here.

    The study is there before what evaluators say of it: that it is there does not end the loading.
    """
    if not settings.ALLOWS_DEMO:
        raise Http404
    progress = demo_progress()
    if is_loaded() and not progress.is_busy:
        return redirect_whole(request, "/")
    if request.method == "POST" and not progress.is_busy:
        if ask_for(LOAD):
            record_entry(ASKED)
        else:
            record_entry(FAILED, after=_("No worker can be reached."))
        progress = demo_progress()
    return render(request, "judging/demo/demo_load.html", {"progress": progress})
