"""Why failures of MiniWoB++ failed: drawing samples of them, and tagging one after the other."""

from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from judging.analysis.experiments.access import PERMISSIONS
from judging.analysis.experiments.figures import names_in
from judging.analysis.experiments.population import RunResult, Scope, Source, scope_for
from judging.analysis.miniwob.causes import (
    FailureCauseForm,
    FailureCausePane,
    causes_of,
    failure_rows,
    next_untold,
    scope_to_tag,
    walked_failure,
)
from judging.analysis.miniwob.services import (
    MAX_SEED,
    SIZE,
    NoFailuresError,
    draw_sample,
    tag_cause,
    undo_cause,
)
from judging.models import FailureCause
from judging.studies.access import TAG_FAILURES
from runs.interface.requests import AppRequest, needs, redirect_whole, wants_partial
from runs.models import AgentConfiguration


class SampleForm(forms.Form):
    """How many failures of which configuration are drawn, by which seed."""

    agent = forms.IntegerField(widget=forms.HiddenInput)
    size = forms.IntegerField(
        label=gettext_lazy("count"), min_value=1, max_value=1000, initial=SIZE
    )
    seed = forms.IntegerField(
        label=gettext_lazy("seed"),
        min_value=0,
        max_value=MAX_SEED - 1,
        required=False,
        widget=forms.NumberInput(attrs={"placeholder": gettext_lazy("random")}),
    )


@require_http_methods(["GET", "HEAD", "POST"])
@needs(TAG_FAILURES)
def failure_causes(request: AppRequest, experiment_id: int) -> HttpResponse:
    """The samples of an experiment's failures, each with what was said; draws one if asked to."""
    scope = scope_to_tag(request.user, experiment_id)
    if scope is None:
        raise Http404
    form = SampleForm(request.POST or None, auto_id=False)
    if request.method == "POST":
        if not _may_draw(request, scope):
            raise PermissionDenied
        if form.is_valid():
            return _draw(request, scope, form)
    samples = causes_of(scope)
    rows = failure_rows(scope, [each.sample for each in samples])
    context = {
        "experiment": scope.experiment,
        "samples": [(each, rows[each.sample.pk]) for each in samples],
        "configurations": names_in(scope) if _may_draw(request, scope) else {},
        "form": form,
        "seeks_errors": form.is_bound,
    }
    return render(
        request,
        "judging/analysis/miniwob/failure_causes.html",
        context,
        status=422 if form.is_bound else 200,
    )


def _may_draw(request: AppRequest, scope: Scope) -> bool:
    """Whether the person may read the figures, and judges no run that could be drawn."""
    if not request.user.has_perms(PERMISSIONS):
        return False
    return not scope.standing(Source()).filter(standing=RunResult.HIDDEN).exists()


def _draw(request: AppRequest, scope: Scope, form: SampleForm) -> HttpResponse:
    wanted = form.cleaned_data
    if wanted["agent"] not in names_in(scope):
        raise Http404
    agent = AgentConfiguration.objects.get(pk=wanted["agent"])
    try:
        draw_sample(
            experiment=scope.experiment,
            agent=agent,
            size=wanted["size"],
            seed=wanted["seed"],
            user=request.user,
        )
    except NoFailuresError:
        messages.info(request, _("No failure here"))
    return redirect("judging:failure_causes", scope.experiment.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@needs(TAG_FAILURES)
def failure_cause(request: AppRequest, run_id: UUID) -> HttpResponse:
    """The form for one failure of a sample; saves it, and goes on to the next if asked to."""
    pane = _pane(request, run_id)
    if request.method != "POST":
        return _render(request, pane)
    action, user = request.POST.get("action"), request.user
    form = FailureCauseForm(request.POST)
    if action == "undo":
        undo_cause(user=user, run_id=run_id)
    elif form.is_valid():
        cause = FailureCause(form.cleaned_data["cause"])
        tag_cause(user=user, run_id=run_id, cause=cause, note=form.cleaned_data["note"].strip())
    else:
        return _render(request, pane, form, status=422)
    if action == "next":
        return _go_on(request, pane)
    return _render(request, _pane(request, run_id), is_saved=True)


def _pane(request: AppRequest, run_id: UUID) -> FailureCausePane:
    pane = walked_failure(request.user, request.GET.get("sample", ""), run_id)
    if pane is None:
        raise Http404
    return pane


def _render(
    request: AppRequest,
    pane: FailureCausePane,
    form: FailureCauseForm | None = None,
    status: int = 200,
    *,
    is_saved: bool = False,
) -> HttpResponse:
    context = {"why": pane, "form": form or pane.form, "is_saved": is_saved}
    name = "_failure_cause_form" if wants_partial(request) else "failure_cause"
    return render(request, f"judging/analysis/miniwob/{name}.html", context, status=status)


def _go_on(request: AppRequest, pane: FailureCausePane) -> HttpResponse:
    """To the next failure of which nobody said why; where there is none, to the samples."""
    scope = scope_for(request.user, pane.sample.experiment)
    run_id = next_untold(scope, pane.sample, pane.row.position)
    if run_id is None:
        messages.success(request, _("All failures of this sample have a cause."))
        address = reverse("judging:failure_causes", args=[pane.sample.experiment_id])
        return redirect_whole(request, address)
    name = "runs:run_detail" if wants_partial(request) else "judging:failure_cause"
    query = urlencode({"sample": pane.sample.pk})
    return redirect_whole(request, f"{reverse(name, args=[run_id])}?{query}")
