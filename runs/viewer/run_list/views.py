"""The runs table."""

import json
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers
from django_tables2 import RequestConfig

from runs.interface.fragments import AppRequest, wants_partial
from runs.interface.paging import count_rows
from runs.models import Run, User
from runs.models.steps import last_screenshot
from runs.models.visibility import visibility_of
from runs.viewer.run_list.filters import RunFilter
from runs.viewer.run_list.saved_views import ALL, back_to_list, default_view, view_choices
from runs.viewer.run_list.tables import RunTable, all_columns, chosen_columns

DAY_S = 24 * 3600


@require_safe
@vary_on_headers("HX-Request")
def run_list(request: AppRequest) -> HttpResponse:
    """Runs that the person may see, filtered and sorted by what they may see of them."""
    own = default_view(request.user)
    if own and not request.GET and not wants_partial(request):
        return redirect(f"{request.path}?{own.query}")
    visibility = visibility_of(request.user)
    runs = Run.objects.visible_with(visibility)
    run_filter = RunFilter(request.GET, queryset=runs, visibility=visibility)
    table = RunTable(run_filter.qs, run_filter.queryset, visibility)
    RequestConfig(request, paginate=False).configure(table)
    table.turn_to(request.GET)
    shows_any = bool(table.page.object_list)
    context = {
        "table": table,
        "filter": run_filter,
        "count": table.count,
        "columns": _column_choices(request.user),
        "views": [] if wants_partial(request) else view_choices(request),
        "all_query": f"?{ALL}=1" if own else "",
        "has_runs": shows_any or runs.exists(),
        "hidden_attempts": 0 if shows_any else run_filter.count_superseded(),
    }
    name = "_run_table" if wants_partial(request) else "run_list"
    response = render(request, f"runs/viewer/{name}.html", context)
    response["Speculation-Rules"] = f'"{reverse("runs:prefetch_rules")}"'
    return response


@require_safe
@cache_control(max_age=DAY_S, private=True)
def prefetch_rules(request: AppRequest) -> HttpResponse:
    """Have browsers that can fetch a run's page once the pointer rests on its row."""
    rows = {"where": {"selector_matches": ".row-link"}, "eagerness": "moderate"}
    return HttpResponse(
        json.dumps({"prefetch": [rows]}), content_type="application/speculationrules+json"
    )


@require_safe
def run_count(request: AppRequest) -> HttpResponse:
    """How many runs match, for a page that has counted only so far before it was shown."""
    visibility = visibility_of(request.user)
    runs = Run.objects.visible_with(visibility)
    found = RunFilter(request.GET, queryset=runs, visibility=visibility).qs
    return render(request, "runs/viewer/_run_count.html", {"count": count_rows(found)})


@require_POST
def run_columns(request: AppRequest) -> HttpResponse:
    """Keep which columns this person wants, and go back to the table as it was."""
    chosen = [name for name in request.POST.getlist("column") if name in all_columns()]
    request.user.preferences["run_columns"] = chosen
    request.user.save(update_fields=["preferences"])
    return back_to_list(request)


def _column_choices(user: User) -> list[dict[str, Any]]:
    chosen = chosen_columns(user)
    return [
        {"name": name, "words": words, "is_chosen": name in chosen}
        for name, words in all_columns().items()
    ]


@require_safe
def run_preview(request: AppRequest, run_id: UUID) -> HttpResponse:
    """What the pane beside the table shows of a run."""
    runs: QuerySet[Any] = Run.objects.visible_to(request.user, [run_id]).select_related("task")
    run = get_object_or_404(runs.annotate(last_picture=last_screenshot()))
    return render(request, "runs/viewer/_run_preview.html", {"run": run})
