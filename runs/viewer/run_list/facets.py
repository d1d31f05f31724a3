"""How many runs each choice of a filter finds, beside the choices, and all runs that match."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from runs.interface.fragments import AppRequest
from runs.interface.keyset import KeyPage
from runs.interface.paging import RowCount
from runs.models import Run
from runs.models.extension import extension
from runs.models.visibility import Visibility, visibility_of
from runs.viewer.run_list.filters import HERE, MISSING, NO_ANOMALY, RunFilter
from runs.viewer.run_list.tables import anomalies_of, run_keyset, shown_rows

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
def run_facets(request: AppRequest) -> HttpResponse:
    """By the address of each choice in the menus: how many runs it finds beside other filters."""
    visibility = visibility_of(request.user)
    query = request.GET.copy()
    of = Run.objects.visible_with(visibility)
    if query.pop(JUDGEABLE, None):
        of = of.judgeable()
    runs = RunFilter(query, queryset=of, visibility=visibility)
    known = _counts(runs, visibility)
    counts: dict[str, str] = {}
    for control in runs.controls:
        found, is_more = known
        if control.name in query:
            others = query.copy()
            others.pop(control.name, None)
            found, is_more = _counts(
                RunFilter(others, queryset=of, visibility=visibility), visibility
            )
        values = [str(value) for value, _words in runs.choice_lists[control.name]]
        for value, option in zip(values, control.options, strict=True):
            n = found[control.name][value]
            if n or not is_more:
                counts[option.query] = str(RowCount(n, is_more=is_more))
    return JsonResponse(counts)


@require_safe
def run_matching(request: AppRequest) -> HttpResponse:
    """The runs that match, the newest first, as fields of the bar of actions."""
    visibility = visibility_of(request.user)
    of = Run.objects.visible_with(visibility)
    found = RunFilter(request.GET, queryset=of, visibility=visibility)
    page = _page(found, visibility, MOST_CHOSEN)
    context = {"keys": page.keys, "is_more": page.next is not None, "most": MOST_CHOSEN}
    return render(request, "runs/viewer/_run_matching.html", context)


def _page(found: RunFilter, visibility: Visibility, size: int) -> KeyPage:
    """The newest runs that match."""
    newest = run_keyset(found.qs, found.queryset, "-created", anonymous=visibility.anonymous)
    return newest.page(None, size)


def _counts(found: RunFilter, visibility: Visibility) -> tuple[dict[str, Counter[str]], bool]:
    """By filter and value: how many of the newest runs that match; and whether more do."""
    page = _page(found, visibility, COUNTED)
    of_extension = {
        name: str(column.accessor)
        for name, column in extension().run_list.columns()
        if name in found.extension.filters()
    }
    fields = FIELDS | of_extension
    runs = shown_rows(found.queryset.order_by(), visibility, page.keys)
    rows = list(runs.values_list("pk", *fields.values()))
    marks = anomalies_of([pk for pk, *values in rows if values[list(fields).index("anomaly")]])
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pk, *values in rows:
        for name, value in zip(fields, values, strict=True):
            counts[name].update(_choices(name, value, marks.get(pk, [])))
    return counts, page.next is not None


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
