"""The runs behind the numbers of an audit, and what is known of each."""

from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers
from django_tables2 import RequestConfig

from judging.analysis.audits.causes_filter import with_tags
from judging.analysis.audits.cell_table import CellTable, cells_table
from judging.analysis.audits.cells import items_in_cells, read_cells
from judging.analysis.audits.judgements import judgements_of, opened_items
from judging.analysis.audits.page import LEFT_OUT
from judging.analysis.audits.population import Group, items_in
from judging.analysis.audits.walks import read_walk, walked_neighbours, way_back
from judging.analysis.causes.forms import CauseForm
from judging.analysis.causes.pages import TAG, tag_filter, walked_pane
from judging.analysis.failure_modes.pages import failure_beside
from judging.analysis.miniwob.cause_pages import walked_failure
from judging.analysis.progress.run_progress import curves_of
from judging.analysis.reports.views import as_file
from judging.analysis.reports.writing import FORMATS
from judging.models import EvaluatorVersion, Study
from judging.studies.access import for_auditors, record_unblindings
from runs.interface.fragments import AppRequest, wants_partial
from runs.models import Run

PER_PAGE = 100
MOST_LEFT_OUT = 1000


@require_safe
@vary_on_headers("HX-Request")
@for_auditors
def audit_cells(request: AppRequest, study: Study, evaluator_id: int, cells: str) -> HttpResponse:
    """The runs of one cell, or of several."""
    evaluator = get_object_or_404(EvaluatorVersion, pk=evaluator_id)
    try:
        shown = read_cells(cells)
    except ValueError as error:
        raise Http404 from error
    walk = {"study": str(study.pk), "audit": str(evaluator_id), "cell": cells}
    tag = tag_filter(request.GET.get("tag", ""))
    items = with_tags(items_in_cells(study, evaluator, shown), evaluator, tag)
    table = CellTable(items, walk=walk, chooses=request.user.has_perm(TAG))
    RequestConfig(request, paginate={"per_page": PER_PAGE}).configure(table)
    listed = [row.record for row in table.paginated_rows]
    record_unblindings(user=request.user, items=listed, reason="runs of an audit")
    context = {
        "study": study,
        "evaluator": evaluator,
        "cells": shown,
        "address": cells,
        "table": table,
        "listed": listed,
        "formats": FORMATS,
        "tag": tag,
        "batch": request.GET.get("batch", ""),
        "form": CauseForm(),
    }
    return render(request, "judging/analysis/audits/audit_cells.html", context)


@require_safe
@for_auditors
def audit_cells_file(
    request: AppRequest, study: Study, evaluator_id: int, cells: str, ending: str
) -> HttpResponse:
    """The runs of the cells as a file."""
    evaluator = get_object_or_404(EvaluatorVersion, pk=evaluator_id)
    try:
        shown = read_cells(cells)
    except ValueError as error:
        raise Http404 from error
    if ending not in FORMATS:
        raise Http404
    items = items_in_cells(study, evaluator, shown)
    record_unblindings(user=request.user, items=items, reason="runs of an audit")
    return as_file(cells_table(study, evaluator, shown), ending)


@require_safe
@for_auditors
def audit_left_out(request: AppRequest, study: Study, group: str) -> HttpResponse:
    """Runs of the study that no figure counts, and why."""
    if group not in LEFT_OUT:
        raise Http404
    found = items_in(study, Group(group)).select_related("run__task").order_by("position")
    items = found[:MOST_LEFT_OUT]
    if group == Group.NOT_EXECUTABLE:  # which is what people said of these runs
        record_unblindings(user=request.user, items=items, reason="runs left out of an audit")
    context = {"study": study, "name": LEFT_OUT[Group(group)], "items": items}
    return render(request, "judging/analysis/audits/audit_left_out.html", context)


@require_safe
@vary_on_headers("HX-Request", "HX-Current-URL")
def run_judgements(request: AppRequest, run_id: UUID) -> HttpResponse:
    """The pane beside a run's timeline: only what the viewer may see."""
    run = get_object_or_404(Run.objects.visible_to(request.user, [run_id]).select_related("task"))
    walk = read_walk(request.GET, request.htmx.current_url or "")
    study_id = int(walk["study"]) if "study" in walk else None
    judgements = judgements_of(run, request.user, study_id)
    opened = opened_items(judgements)
    curves = curves_of(judgements)
    record_unblindings(user=request.user, items=opened, reason="judgements of a run")
    context = {
        "judgements": judgements,
        "curves": curves,
        "drawn_curves": [curve.drawn() for curve in curves],
        "opened": walk.get("audit", ""),
        "walk": urlencode(walk),
        "neighbours": walked_neighbours(request.user, walk, run_id),
        "way_back": way_back(walk),
        "is_triangle": "triangle" in walk,
        "cell_address": walk.get("cell", ""),
        "pane": walked_pane(request.user, walk, run_id) if judgements.reads_audits else None,
        "failure": failure_beside(judgements, request.user),
        "why": None
        if judgements.is_blind
        else walked_failure(request.user, walk.get("sample", ""), run_id),
        # Beside the timeline a step is on the same page; alone, the pane links to the run's.
        "steps_at": "" if wants_partial(request) else reverse("runs:run_detail", args=[run_id]),
    }
    return render(request, "judging/analysis/audits/run_judgements.html", context)
