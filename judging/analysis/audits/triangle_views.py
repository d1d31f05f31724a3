"""The triangle: people, reference verdict and evaluators run by run."""

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers
from django_tables2 import RequestConfig

from judging.analysis.audits.selection import Selection, read_selection, selected_items
from judging.analysis.audits.triangle_page import filters_of
from judging.analysis.audits.triangle_table import TriangleTable
from judging.analysis.audits.triangle_tables import triangle_rows
from judging.analysis.audits.verdict_sources import VerdictSources, sources_of
from judging.analysis.reports.views import as_file
from judging.analysis.reports.writing import FORMATS
from judging.models import Study
from judging.studies.access import for_auditors, record_unblindings
from runs.interface.fragments import AppRequest
from runs.operations.error_views import BadQueryError

PER_PAGE = 100


@require_safe
@vary_on_headers("HX-Request")
@for_auditors
def audit_triangle(request: AppRequest, study: Study) -> HttpResponse:
    """One row a run, with what everybody said of it."""
    sources = sources_of(study)
    selection = _selection(request, sources)
    items = selected_items(study, selection, sources)
    table = TriangleTable(items, study=study, sources=sources, selection=selection)
    RequestConfig(request, paginate={"per_page": PER_PAGE}).configure(table)
    shown = [row.record for row in table.paginated_rows]
    record_unblindings(user=request.user, items=shown, reason="triangle of an audit")
    context = {
        "study": study,
        "table": table,
        "selection": selection,
        "filters": filters_of(study, sources, selection),
        "formats": FORMATS,
    }
    return render(request, "judging/analysis/audits/audit_triangle.html", context)


@require_safe
@for_auditors
def audit_triangle_file(request: AppRequest, study: Study, ending: str) -> HttpResponse:
    """The triangle of the selection as a file."""
    if ending not in FORMATS:
        raise Http404
    sources = sources_of(study)
    selection = _selection(request, sources)
    items = list(selected_items(study, selection, sources))
    record_unblindings(user=request.user, items=items, reason="triangle of an audit")
    return as_file(triangle_rows(study, items, sources, selection), ending)


def _selection(request: AppRequest, sources: VerdictSources) -> Selection:
    try:
        return read_selection(request.GET, sources)
    except ValueError as error:
        raise BadQueryError(error) from error
