"""Experiments: the list, the launch page, progress, pause and cancel."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from runs.interface.fragments import AppRequest, redirect_whole, wants_partial
from runs.interface.paging import BoundedPaginator
from runs.launching.experiments.estimates import estimate
from runs.launching.experiments.forms import ExperimentForm, first_problem
from runs.launching.experiments.progress import progress_of, progress_of_each
from runs.launching.experiments.selection import PlanError
from runs.launching.experiments.services import (
    cancel_experiment,
    launch_experiment,
    pause_experiment,
    plan_problem,
    resume_experiment,
)
from runs.launching.reruns.views import may_rerun
from runs.models import Experiment, User
from runs.models.hooks import LinkedPage, address_above

PER_PAGE = 50

may_view = permission_required("runs.view_experiment", raise_exception=True)


@require_safe
@may_view
def experiment_list(request: AppRequest) -> HttpResponse:
    """Experiments, newest first, each with how far it is."""
    experiments = Experiment.objects.visible_to(request.user).select_related("created_by")
    page = BoundedPaginator(experiments.defer("plan"), PER_PAGE).get_page(request.GET.get("page"))
    rows = progress_of_each(page.object_list, request.user)
    return render(request, "runs/launching/experiment_list.html", {"page": page, "rows": rows})


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPage:
    """What the launch pages of experiments differ in.

    Attributes:
        name: in the names of its templates.
        estimate: what to show of the plan that the form holds; nothing without a plan.
        launch: queues the plan of a valid form; the experiment, and how many runs it is to have.
            Raises PlanError.
        landing: the page of what was launched.
    """

    form: type[ExperimentForm]
    name: str
    estimate: Callable[[Any, User], dict[str, Any]]
    launch: Callable[[Any, User], tuple[Experiment, int]]
    landing: LinkedPage

    def answer(self, request: AppRequest, initial: dict[str, str]) -> HttpResponse:
        """The form; sent with `estimate` it tells what it takes, with `launch` it launches."""
        if "estimate" in request.POST:
            return self._estimated(request)
        is_sent = "launch" in request.POST and "refresh" not in request.POST
        given = request.POST if request.method == "POST" else None
        form = self.form(given, user=request.user, initial=initial)
        if is_sent and form.is_valid() and (response := self._launched(request, form)):
            return response
        if given and not is_sent:
            form.errors.clear()  # only another task set was chosen
        name = "_experiment_form" if wants_partial(request) else f"{self.name}_new"
        context = {"form": form, "action": request.path}
        status = 422 if is_sent else 200
        return render(request, f"runs/launching/{name}.html", context, status=status)

    def _estimated(self, request: AppRequest) -> HttpResponse:
        """What the form asks for so far takes, or what is wrong with it."""
        form = self.form(request.POST, user=request.user)
        form.full_clean()
        context = {"problem": first_problem(form), **self.estimate(form, request.user)}
        return render(request, f"runs/launching/_{self.name}_estimate.html", context)

    def _launched(self, request: AppRequest, form: ExperimentForm) -> HttpResponse | None:
        try:
            experiment, n = self.launch(form, request.user)
        except PlanError as error:
            form.refuse(error)
            return None
        words = ngettext("%(n)d run is queued.", "%(n)d runs are queued.", n) % {"n": n}
        messages.success(request, words)
        return redirect_whole(request, address_above(self.landing, experiment.pk))


def _estimate(form: ExperimentForm, user: User) -> dict[str, Any]:
    if form.plan is None:
        return {}
    return {
        "problem": plan_problem(form.plan),
        "estimate": estimate(form.plan, user),
        "plan": form.plan,
    }


def _launch(form: ExperimentForm, user: User) -> tuple[Experiment, int]:
    assert form.plan is not None  # noqa: S101 (mypy; a valid form has one)
    launched = launch_experiment(plan=form.plan, token=form.cleaned_data["token"], user=user)
    return launched.experiment, form.plan.n_runs


_LAUNCH_PAGE = LaunchPage(
    form=ExperimentForm,
    name="experiment",
    estimate=_estimate,
    launch=_launch,
    landing=LinkedPage.EXPERIMENT,
)


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may_rerun
def experiment_new(request: AppRequest) -> HttpResponse:
    """The launch page, with the task set or the agent that the address names."""
    given = {"task_set": "task_set", "agent": "more_agents"}
    initial = {field: request.GET[name] for name, field in given.items() if name in request.GET}
    return _LAUNCH_PAGE.answer(request, initial)


@require_safe
@may_view
def experiment_progress(request: AppRequest, pk: int) -> HttpResponse:
    """How far it is, as a fragment that asks again while something moves."""
    return _progress(request, _experiment(request, pk))


@require_POST
@may_rerun
def experiment_pause(request: AppRequest, pk: int) -> HttpResponse:
    """No further run starts."""
    return _controlled(request, pk, pause_experiment)


@require_POST
@may_rerun
def experiment_resume(request: AppRequest, pk: int) -> HttpResponse:
    """Runs start again."""
    return _controlled(request, pk, resume_experiment)


@require_POST
@may_rerun
def experiment_cancel(request: AppRequest, pk: int) -> HttpResponse:
    """Runs that wait end now, those under way at their next step."""
    return _controlled(request, pk, cancel_experiment)


def _experiment(request: AppRequest, pk: int) -> Experiment:
    return get_object_or_404(Experiment.objects.visible_to(request.user), pk=pk)


def _controlled(request: AppRequest, pk: int, change: Callable[..., bool]) -> HttpResponse:
    experiment = _experiment(request, pk)
    change(experiment=experiment)
    experiment.refresh_from_db()
    if not wants_partial(request):
        return redirect(_address(experiment))
    return _progress(request, experiment)


def _progress(request: AppRequest, experiment: Experiment) -> HttpResponse:
    progress = progress_of(experiment, request.user)
    context = {"progress": progress, "experiment": experiment}
    return render(request, "runs/launching/_experiment_progress.html", context)


def _address(experiment: Experiment) -> str:
    return address_above(LinkedPage.EXPERIMENT, experiment.pk)
