"""The launch page of experiments with hints."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from runs.catalogue.tasks.offered import PlanError
from runs.interface.fragments import AppRequest, redirect_whole, wants_partial
from runs.knowledge.hints.views import may_view
from runs.launching.experiments.forms import first_problem
from runs.launching.experiments.services import plan_problem
from runs.launching.hint_experiments.estimates import hint_estimate
from runs.launching.hint_experiments.forms import HintExperimentForm
from runs.launching.hint_experiments.services import launch_hint_experiment
from runs.launching.reruns.views import may_rerun


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may_rerun
@may_view
def hint_experiment_new(request: AppRequest) -> HttpResponse:
    """The form; sent with `estimate` it tells what it takes, with `launch` it launches."""
    if "estimate" in request.POST:
        return _estimated(request)
    is_sent = "launch" in request.POST and "refresh" not in request.POST
    given = request.POST if request.method == "POST" else None
    initial = {name: request.GET[name] for name in ("task_set", "job") if name in request.GET}
    form = HintExperimentForm(given, user=request.user, initial=initial)
    if is_sent and form.is_valid() and (response := _launched(request, form)):
        return response
    if given and not is_sent:
        form.errors.clear()  # only another task set was chosen
    name = "_experiment_form" if wants_partial(request) else "hint_experiment_new"
    context = {"form": form, "action": request.path}
    return render(request, f"runs/launching/{name}.html", context, status=422 if is_sent else 200)


def _estimated(request: AppRequest) -> HttpResponse:
    form = HintExperimentForm(request.POST, user=request.user)
    form.full_clean()
    context: dict[str, Any] = {"problem": first_problem(form)}
    if form.hint_plan is not None:
        context = {
            "problem": plan_problem(form.hint_plan.plan),
            "plan": form.hint_plan,
            "estimate": hint_estimate(form.hint_plan, request.user),
        }
    return render(request, "runs/launching/_hint_estimate.html", context)


def _launched(request: AppRequest, form: HintExperimentForm) -> HttpResponse | None:
    assert form.hint_plan is not None  # noqa: S101 (mypy; a valid form has one)
    try:
        launched = launch_hint_experiment(
            plan=form.hint_plan, token=form.cleaned_data["token"], user=request.user
        )
    except PlanError as error:
        form.refuse(error)
        return None
    n = form.hint_plan.n_runs
    words = ngettext("%(n)d run is queued.", "%(n)d runs are queued.", n) % {"n": n}
    messages.success(request, words)
    address = reverse("judging:hint_report", args=[launched.experiment.pk])
    return redirect_whole(request, address)
