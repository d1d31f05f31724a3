"""Experiments: runs that belong together."""

from typing import Any

from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.models import Experiment, Run, User
from runs.views.fragments import AppRequest
from runs.visibility import run_policy

PER_PAGE = 100


@require_safe
@permission_required("runs.view_experiment", raise_exception=True)
def experiment_list(request: AppRequest) -> HttpResponse:
    """Experiments, newest first, with how many of their runs the person would find in the table."""
    experiments = _shown_to(request.user).select_related("created_by")
    page = Paginator(experiments, PER_PAGE).get_page(request.GET.get("page"))
    names = [experiment.name for experiment in page.object_list]
    runs: QuerySet[Any] = Run.objects.shown_to(request.user).latest_attempts()
    named = runs.filter(shown_experiment__in=names).order_by()
    counted = named.values_list("shown_experiment").annotate(n=Count("pk"))
    counts = dict(counted)
    rows = [(experiment, counts.get(experiment.name, 0)) for experiment in page.object_list]
    return render(request, "runs/experiment_list.html", {"page": page, "rows": rows})


def _shown_to(user: User) -> QuerySet[Experiment]:
    """Experiments without those that hold only runs whose agent is hidden from the person.

    The name of such a one mostly tells the agent, and nothing else on the page is its.
    """
    anonymous = run_policy().anonymous(user)
    if anonymous is None:
        return Experiment.objects.all()
    runs = Run.objects.filter(experiment=OuterRef("pk"))
    return Experiment.objects.filter(~Exists(runs) | Exists(runs.exclude(anonymous)))
