"""Experiments: the list, the launch page, progress, pause and cancel."""

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from runs.interface.paging import BoundedPaginator
from runs.interface.requests import AppRequest, needs, redirect_whole, wants_partial
from runs.launching.experiments.forms import ExperimentForm, problems_of
from runs.launching.experiments.progress import progress_of, progress_of_each
from runs.launching.experiments.selection import PlanError
from runs.launching.experiments.services import (
    cancel_experiment,
    pause_experiment,
    resume_experiment,
)
from runs.launching.reruns.views import may_rerun
from runs.models import Experiment
from runs.models.hooks import LinkedPage, address_above

PER_PAGE = 50

may_view = needs("runs.view_experiment")


@require_safe
@may_view
def experiment_list(request: AppRequest) -> HttpResponse:
    """Experiments, newest first, each with how far it is."""
    experiments = Experiment.objects.visible_to(request.user).select_related("created_by")
    page = BoundedPaginator(experiments.defer("plan"), PER_PAGE).get_page(request.GET.get("page"))
    rows = progress_of_each(page.object_list, request.user)
    return render(request, "runs/launching/experiment_list.html", {"page": page, "rows": rows})


def launch_page(
    request: AppRequest, form_class: type[ExperimentForm], initial: dict[str, str]
) -> HttpResponse:
    """The form; sent with `estimate` it tells what it takes, with `launch` it launches."""
    if "estimate" in request.POST:
        return _estimated(request, form_class(request.POST, user=request.user))
    is_sent = "launch" in request.POST and "refresh" not in request.POST
    given = request.POST if request.method == "POST" else None
    form = form_class(given, user=request.user, initial=initial)
    if is_sent and form.is_valid() and (response := _launched(request, form)):
        return response
    if given and not is_sent:
        form.errors.clear()  # only another task set was chosen
    name = "_experiment_form" if wants_partial(request) else f"{form.page}_new"
    context = {"form": form, "action": request.path}
    status = 422 if is_sent else 200
    return render(request, f"runs/launching/{name}.html", context, status=status)


def _estimated(request: AppRequest, form: ExperimentForm) -> HttpResponse:
    """What the form asks for so far takes, or what is wrong with it."""
    form.full_clean()
    context = {"problems": problems_of(form), **form.estimated()}
    return render(request, f"runs/launching/_{form.page}_estimate.html", context)


def _launched(request: AppRequest, form: ExperimentForm) -> HttpResponse | None:
    try:
        experiment, n = form.launch()
    except PlanError as error:
        form.refuse(error)
        return None
    words = ngettext("%(n)d run is queued.", "%(n)d runs are queued.", n) % {"n": n}
    messages.success(request, words)
    return redirect_whole(request, address_above(form.landing, experiment.pk))


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@may_rerun
def experiment_new(request: AppRequest) -> HttpResponse:
    """The launch page, with the task set or the agent that the address names."""
    given = {"task_set": "task_set", "agent": "more_agents"}
    initial = {field: request.GET[name] for name, field in given.items() if name in request.GET}
    return launch_page(request, ExperimentForm, initial)


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
        return redirect(address_above(LinkedPage.EXPERIMENT, experiment.pk))
    return _progress(request, experiment)


def _progress(request: AppRequest, experiment: Experiment) -> HttpResponse:
    progress = progress_of(experiment, request.user)
    context = {"progress": progress, "experiment": experiment}
    return render(request, "runs/launching/_experiment_progress.html", context)
