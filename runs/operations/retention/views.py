"""Quotas of an experiment, and putting its runs away, taking them back, deleting them."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from runs.interface.fragments import AppRequest
from runs.models import Experiment, Run
from runs.models.run_queries import RunQuerySet
from runs.operations.retention.forms import DeletionForm, LimitsForm
from runs.operations.retention.pages import preview
from runs.operations.retention.services import (
    archive_runs,
    delete_archived,
    restore_runs,
    set_limits,
)
from runs.operations.space.views import may_manage

AT_ONCE = 1000
"""Runs that a person has deleted with one click; the page says how many are left."""


@require_safe
@may_manage
def retention(request: AppRequest, experiment_id: int) -> HttpResponse:
    """What of the experiment could go, what could not and why, and its limits."""
    experiment = _experiment(request, experiment_id)
    return _page(request, experiment, LimitsForm.of(experiment), _deletion(experiment))


@require_POST
@may_manage
def retention_limits(request: AppRequest, experiment_id: int) -> HttpResponse:
    """Change quotas and rule."""
    experiment = _experiment(request, experiment_id)
    form = LimitsForm(request.POST)
    if not form.is_valid():
        return _page(request, experiment, form, _deletion(experiment))
    set_limits(experiment=experiment, **form.limits)
    return redirect("runs:retention", experiment.pk)


@require_POST
@may_manage
def retention_archive(request: AppRequest, experiment_id: int) -> HttpResponse:
    """Put away all its runs that nothing keeps."""
    experiment = _experiment(request, experiment_id)
    n = archive_runs(runs=_runs(experiment), why=experiment.name)
    _say(request, n, ngettext("%(n)d run was put away.", "%(n)d runs were put away.", n))
    return redirect("runs:retention", experiment.pk)


@require_POST
@may_manage
def retention_restore(request: AppRequest, experiment_id: int) -> HttpResponse:
    """Take all back that was put away."""
    experiment = _experiment(request, experiment_id)
    n = restore_runs(runs=_runs(experiment), why=experiment.name)
    _say(request, n, ngettext("%(n)d run is back.", "%(n)d runs are back.", n))
    return redirect("runs:retention", experiment.pk)


@require_POST
@may_manage
def retention_delete(request: AppRequest, experiment_id: int) -> HttpResponse:
    """Delete what was put away for the grace period, as much as one can wait for."""
    experiment = _experiment(request, experiment_id)
    form = DeletionForm(request.POST, experiment=experiment)
    if not form.is_valid():
        return _page(request, experiment, LimitsForm.of(experiment), form)
    gone = delete_archived(
        runs=_runs(experiment),
        reason=form.cleaned_data["reason"],
        user=request.user,
        at_most=AT_ONCE,
    )
    n = len(gone)
    _say(request, n, ngettext("%(n)d run was deleted.", "%(n)d runs were deleted.", n))
    return redirect("runs:retention", experiment.pk)


def _page(
    request: AppRequest, experiment: Experiment, limits: LimitsForm, deletion: DeletionForm
) -> HttpResponse:
    context: dict[str, Any] = {
        "experiment": experiment,
        "preview": preview(experiment, timezone.now()),
        "limits": limits,
        "deletion": deletion,
    }
    status = 422 if limits.errors or deletion.errors else 200
    return render(request, "runs/operations/retention.html", context, status=status)


def _experiment(request: AppRequest, experiment_id: int) -> Experiment:
    return get_object_or_404(Experiment.objects.visible_to(request.user), pk=experiment_id)


def _runs(experiment: Experiment) -> RunQuerySet[Run]:
    return Run.objects.filter(experiment=experiment)


def _deletion(experiment: Experiment) -> DeletionForm:
    return DeletionForm(experiment=experiment)


def _say(request: AppRequest, n: int, words: str) -> None:
    messages.success(request, words % {"n": n})
