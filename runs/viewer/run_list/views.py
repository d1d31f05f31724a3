"""The runs table, how many runs each choice of its filters finds, and all runs that match."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers
from django_tables2 import RequestConfig

from runs.interface.lists import default_address, list_context
from runs.interface.paging import count_rows, counts_by_choice
from runs.interface.requests import AppRequest, wants_partial
from runs.interface.table_rows import menu_of
from runs.models import Run
from runs.models.extension import extension
from runs.models.steps import last_screenshot
from runs.models.visibility import visibility_of
from runs.viewer.run_list.filters import HERE, MISSING, NO_ANOMALY, RunFilter
from runs.viewer.run_list.pages import NEWEST_FIRST, run_keyset
from runs.viewer.run_list.tables import RUNS, RunTable, anomalies_of, shown_rows

DAY_S = 24 * 3600
COUNTED = 1_000
"""Counts are of so many runs, the newest that match; where more do, each is "at least"."""
MOST_CHOSEN = 500
"""So many runs are chosen at once: what reruns and exports take."""
JUDGEABLE = "judgeable"
"""Parameter of an address: only runs that a study may take are counted."""
FIELDS = {
    "task_set": "task__task_set",
    "site": "task__site",
    "experiment": "shown_experiment",
    "agent": "shown_agent",
    "model": "shown_model",
    "outcome": "shown_outcome",
    "status": "shown_status",
    "trajectory": "is_stub",
    "anomaly": "shown_anomaly",
}
"""What a filter compares, as it is shown: what is hidden from the person is counted nowhere."""


@require_safe
@vary_on_headers("HX-Request")
def run_list(request: AppRequest) -> HttpResponse:
    """Runs that the person may see, filtered and sorted by what they may see of them."""
    if own := default_address(request, RUNS):
        return redirect(own)
    run_filter = RunFilter(request.GET, visibility=visibility_of(request.user))
    table = RunTable(run_filter)
    RequestConfig(request, paginate=False).configure(table)
    table.turn_to(request.GET)
    shows_any = bool(table.page.object_list)
    context = {
        "table": table,
        "filter": run_filter,
        "count": table.count,
        "has_runs": shows_any or run_filter.every.exists(),
        "hidden_attempts": 0 if shows_any else run_filter.count_superseded(),
        **list_context(request, RUNS),
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
    found = RunFilter(request.GET, visibility=visibility_of(request.user))
    return render(request, "runs/viewer/_run_count.html", {"count": count_rows(found.qs)})


@require_safe
def run_preview(request: AppRequest, run_id: UUID) -> HttpResponse:
    """What the pane beside the table shows of a run."""
    runs: QuerySet[Any] = Run.objects.visible_to(request.user, [run_id]).select_related("task")
    run = get_object_or_404(runs.annotate(last_picture=last_screenshot()))
    return render(request, "runs/viewer/_run_preview.html", {"run": run})


@require_safe
def run_facets(request: AppRequest) -> HttpResponse:
    """The choices of a filter, and how many runs each of them finds beside other filters."""
    query = request.GET.copy()
    runs = Run.objects.judgeable() if query.pop(JUDGEABLE, None) else None
    of = partial(RunFilter, visibility=visibility_of(request.user), runs=runs)
    return HttpResponse(menu_of(query, of, _counts))


@require_safe
def run_matching(request: AppRequest) -> HttpResponse:
    """The runs that match, the newest first, as fields of the bar of actions."""
    found = RunFilter(request.GET, visibility=visibility_of(request.user))
    page = run_keyset(found, NEWEST_FIRST).page(None, MOST_CHOSEN)
    context = {"keys": page.keys, "is_more": page.next is not None, "most": MOST_CHOSEN}
    return render(request, "runs/viewer/_run_matching.html", context)


def _counts(found: RunFilter, name: str) -> Callable[[str], str]:
    """Tells how many of the newest runs that match have a value of a filter; of more, at least.

    Nothing of a value that only older ones may have.
    """
    page = run_keyset(found, NEWEST_FIRST).page(None, COUNTED)
    of_extension = dict(extension().run_list.columns())
    field = FIELDS.get(name) or str(of_extension[name].accessor)
    runs = shown_rows(found, page.keys)
    rows = list(runs.values_list("pk", field))
    marks = anomalies_of([pk for pk, value in rows if value]) if name == "anomaly" else {}
    counts = Counter(
        choice for pk, value in rows for choice in _choices(name, value, marks.get(pk, []))
    )
    return counts_by_choice(counts, is_more=page.next is not None)


def _choices(name: str, value: Any, kinds: list[str]) -> Iterator[str]:
    """The choices of the filter that find a run with the value."""
    if value is None:  # hidden, or nothing that could be chosen
        return
    if name == "anomaly":
        yield from set(kinds) if value else [NO_ANOMALY]
    elif name == "trajectory":
        yield MISSING if value else HERE
    else:
        yield str(value)
