"""Running again: the form, the live page, the wall, cancel and retry."""

import uuid
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from runs.interface.requests import AppRequest, needs, redirect_whole, wants_partial
from runs.launching.agents import OfferedAgents, rerun_offer
from runs.launching.form_fields import WholeNumberField, offer
from runs.launching.reruns.pages import live_context, wall_of
from runs.launching.reruns.services import (
    MAX_NEW_RUNS,
    Launch,
    RerunError,
    RerunRequest,
    cancel_run,
    cancel_runs,
    launch_reruns,
    retry_run,
)
from runs.models import RetryPolicy, Run, User
from runs.models.parsing import ids_of
from runs.models.runs.queries import RunQuerySet
from runs.models.visibility import visibility_of
from webagent.agents.settings import MAX_STEPS

may_rerun = needs("runs.rerun_run")

MAX_TRIALS = 20
SAME = ""
NO_POLICY = "none"


class RerunForm(forms.Form):
    """Agent, seed and number of trials; `token` tells one click from another."""

    step_limits = tuple(MAX_STEPS.values())

    class Seeds:
        SAME, NEW, FIXED = "same", "new", "fixed"

    agent = forms.ChoiceField(
        label=gettext_lazy("agent"),
        required=False,
        error_messages={"required": gettext_lazy("Choose one.")},
    )
    seeds = forms.ChoiceField(
        label=gettext_lazy("seed"),
        widget=forms.RadioSelect,
        choices=[
            (Seeds.SAME, gettext_lazy("as before")),
            (Seeds.NEW, gettext_lazy("a new one for every trial")),
            (Seeds.FIXED, gettext_lazy("the number below, then counted up")),
        ],
        initial=Seeds.SAME,
    )
    seed = WholeNumberField(
        label=gettext_lazy("Seed number"), required=False, min_value=0, max_value=2**31 - 1
    )
    trials = WholeNumberField(
        label=gettext_lazy("Trials"), min_value=1, max_value=MAX_TRIALS, initial=1
    )
    max_steps = WholeNumberField(
        label=gettext_lazy("step limit"),
        required=False,
        widget=forms.TextInput(attrs={"list": "step-limits"}),
        min_value=1,
        max_value=1000,
        help_text=gettext_lazy("Leave empty to keep the old value."),
    )
    policy = forms.ChoiceField(label=gettext_lazy("retry policy"), required=False)
    experiment = forms.CharField(label=gettext_lazy("experiment"), required=False, max_length=200)
    token = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(self, *args: Any, same_words: str | None, user: User, **options: Any) -> None:
        """`same_words` names the agents as they were; None where they cannot run here."""
        options["initial"] = {"token": uuid.uuid4()} | (options.get("initial") or {})
        super().__init__(*args, **options)
        self.offered = OfferedAgents(user)
        choices = self.offered.choices
        # Where the own agent cannot run, nobody is taken by accident.
        choices.insert(0, (SAME, same_words or _("choose one")))
        offer(self, "agent", choices)
        self.fields["agent"].required = same_words is None
        policies = ((str(row.pk), row.label) for row in RetryPolicy.objects.latest_versions())
        usual = [(SAME, _("as before")), (NO_POLICY, _("default settings"))]
        offer(self, "policy", [*usual, *policies])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("seeds") == self.Seeds.FIXED and cleaned.get("seed", 0) is None:
            self.add_error("seed", _("Required."))
        return cleaned

    def rerun_request(self) -> RerunRequest:
        """What was asked for; the form must be valid."""
        asked = self.cleaned_data
        policy = asked["policy"]
        named = policy not in (SAME, NO_POLICY)
        return RerunRequest(
            token=asked["token"],
            agent=self.offered.get(asked["agent"]),
            policy=RetryPolicy.objects.get(pk=policy) if named else None,
            own_policy=policy == SAME,
            seed=asked["seed"] if asked["seeds"] == self.Seeds.FIXED else None,
            new_seeds=asked["seeds"] == self.Seeds.NEW,
            trials=asked["trials"],
            max_steps=asked["max_steps"],
            experiment=asked["experiment"],
        )


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


@require_safe
@vary_on_headers("HX-Request")
@may_rerun
def live_wall(request: AppRequest) -> HttpResponse:
    """All runs under way that the person may see.

    The page asks again, and less often while there are none; embedded in another page (`embedded`)
    it stops then. Where it was empty (`empty`) and still is, nothing is swapped.
    """
    visibility = visibility_of(request.user)
    runs = Run.objects.visible_with(visibility).filter(superseded=False)
    wall = wall_of(runs.named(visibility), request.user)
    if not wall and "empty" in request.GET and wants_partial(request):
        return HttpResponse(status=204)
    context = {"wall": wall, "is_embedded": "embedded" in request.GET}
    return render(request, "runs/launching/live_wall.html", context)


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
