"""Running again: the live page, the form, cancel and retry."""

from collections.abc import Sequence
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from runs.catalogue.agents.runnable import rerun_offer
from runs.interface.requests import AppRequest, needs, redirect_whole, wants_partial
from runs.launching.reruns.forms import RerunForm
from runs.launching.reruns.pages import live_context
from runs.launching.reruns.services import (
    MAX_NEW_RUNS,
    Launch,
    RerunError,
    cancel_run,
    cancel_runs,
    launch_reruns,
    retry_run,
)
from runs.models import Run
from runs.models.parsing import ids_of
from runs.models.runs.queries import RunQuerySet

may_rerun = needs("runs.rerun_run")


@require_safe
@vary_on_headers("HX-Request")
@may_rerun
def rerun_list(request: AppRequest) -> HttpResponse:
    """Runs made here, live: what runs, what waits, what came of the last ones."""
    live = live_context(request)
    response = render(request, "runs/launching/rerun_list.html", live)
    if not live["moves"]:
        response["HX-Trigger"] = "jobs-changed"
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may_rerun
def run_rerun(request: AppRequest, run_id: UUID) -> HttpResponse:
    """The form for one run; sent, it queues the new runs."""
    run = get_object_or_404(_sources(request, [run_id]))
    action = reverse("runs:run_rerun", args=[run_id])
    return _ask_or_launch(request, [run], action, is_sent=request.method == "POST")


@require_POST
@vary_on_headers("HX-Request")
@may_rerun
def run_rerun_selected(request: AppRequest) -> HttpResponse:
    """The form for the runs named by `run`; with its token in it, it queues the new runs."""
    ids = ids_of(request.POST.getlist("run"))[:MAX_NEW_RUNS]
    runs = list(_sources(request, ids))
    action = reverse("runs:run_rerun_selected")
    return _ask_or_launch(request, runs, action, is_sent="token" in request.POST)


@require_POST
@may_rerun
def run_cancel(request: AppRequest, run_id: UUID) -> HttpResponse:
    """Ask a run to stop."""
    run = get_object_or_404(Run.objects.visible_to(request.user, [run_id]))
    if not cancel_run(run=run):
        messages.info(request, _("It had already ended."))
    return _back(request)


@require_POST
@may_rerun
def rerun_cancel_own(request: AppRequest) -> HttpResponse:
    """Ask all runs to stop that the person launched by hand."""
    n = cancel_runs(runs=Run.objects.launched_by_hand(request.user.pk))
    words = ngettext("%(n)d run is stopping.", "%(n)d runs are stopping.", n) % {"n": n}
    messages.info(request, words)
    return _back(request)


@require_POST
@may_rerun
def run_retry(request: AppRequest, run_id: UUID) -> HttpResponse:
    """Queue the next attempt of a run that broke or was cancelled."""
    run = get_object_or_404(_sources(request, [run_id]))
    try:
        retry_run(run=run, user=request.user)
    except RerunError as error:
        messages.error(request, str(error))
    return _back(request)


def _sources(request: AppRequest, ids: Sequence[UUID]) -> RunQuerySet[Run]:
    return Run.objects.visible_to(request.user, ids).select_related("task__task_set", "agent")


def _ask_or_launch(
    request: AppRequest, runs: Sequence[Run], action: str, *, is_sent: bool
) -> HttpResponse:
    offer = rerun_offer(runs)
    form = RerunForm(
        request.POST if is_sent else None, same_words=offer.same_words, user=request.user
    )
    if is_sent and form.is_valid():
        try:
            launch = launch_reruns(runs=runs, rerun_request=form.rerun_request(), user=request.user)
        except RerunError as error:
            form.add_error(None, str(error))
        else:
            return _launched(request, launch)
    name = "rerun_form"
    if wants_partial(request):
        name = "_rerun_form" if is_sent else "_rerun_dialog"
    context = {"form": form, "offer": offer, "runs": runs, "action": action}
    return render(request, f"runs/launching/{name}.html", context, status=422 if is_sent else 200)


def _launched(request: AppRequest, launch: Launch) -> HttpResponse:
    count = len(launch.queued)
    words = ngettext("%(n)d run is queued.", "%(n)d runs are queued.", count) % {"n": count}
    messages.success(request, words)
    for why in dict.fromkeys(why for _run, why in launch.refused):
        messages.warning(request, why)
    return redirect_whole(request, reverse("runs:rerun_list"))


def _back(request: AppRequest) -> HttpResponse:
    """The live page again: as a fragment where htmx asked, else as a page."""
    if not wants_partial(request):
        return redirect("runs:rerun_list")
    live = live_context(request) | {"says": True}
    response = render(request, "runs/launching/rerun_list.html", live)
    response["HX-Trigger"] = "jobs-changed"
    return response
