"""Audits: evaluators held against the reference verdicts of a study."""

from typing import Any

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from judging.analysis.audits.agreement import agreement_of
from judging.analysis.audits.detectors import (
    CELLS,
    KINDS,
    Cell,
    Detected,
    Detector,
    detectors_of,
    detectors_report,
    items_of,
)
from judging.analysis.audits.figures_tables import corrected_report
from judging.analysis.audits.matrices import audit_of, corrected_rates
from judging.analysis.audits.page import QUESTIONS, audit_page, draw, figures_of, listed_studies
from judging.analysis.audits.population import counted_items
from judging.analysis.audits.reports import PER_RUN, TABLE_NAMES, TABLES, whole_report
from judging.analysis.audits.resampling import resampled
from judging.analysis.reports.html import html_tables
from judging.analysis.reports.views import as_file, as_picture, attached
from judging.analysis.reports.writing import FORMATS
from judging.models import Study
from judging.studies.access import AUDIT, for_auditors, record_unblindings
from runs.interface.fragments import AppRequest, wants_partial
from runs.interface.paging import BoundedPaginator
from runs.operations.error_views import BadQueryError

PER_PAGE = 50


@require_safe
@permission_required(AUDIT, raise_exception=True)
def audit_home(request: AppRequest) -> HttpResponse:
    """All studies, the newest first, with what there is to audit in each."""
    studies = Study.objects.order_by("-created_at", "-pk")
    page = BoundedPaginator(studies, PER_PAGE).get_page(request.GET.get("page"))
    rows = listed_studies(request.user, list(page.object_list))
    return render(request, "judging/analysis/audits/audit_home.html", {"page": page, "rows": rows})


@require_safe
@for_auditors
def audit(request: AppRequest, study: Study) -> HttpResponse:
    """All evaluators of a study on one population, and the annotators against each other."""
    context = {
        "study": study,
        "page": (page := audit_page(study)),
        "audit": page.audit,
        "figures": page.figures,
        "is_first": True,
        "tables": TABLE_NAMES,
        "formats": FORMATS,
        "is_evaluating": study.batches.active().exists(),
    }
    return render(request, "judging/analysis/audits/audit.html", context)


@require_safe
@vary_on_headers("HX-Request")
@for_auditors
def audit_pictures(request: AppRequest, study: Study) -> HttpResponse:
    """The pictures of the page, which take longer than all its figures."""
    audit = audit_of(study)
    intervals = resampled(audit)
    drawn = [draw(audit, key, intervals) for key in QUESTIONS] if audit.speaking else []
    return as_part(
        request, "judging/analysis/audits/_audit_pictures.html", {"study": study, "drawn": drawn}
    )


@require_safe
@vary_on_headers("HX-Request")
@for_auditors
def audit_figures(request: AppRequest, study: Study) -> HttpResponse:
    """The figures side by side, with the intervals that take resampling."""
    audit = audit_of(study)
    intervals, found = resampled(audit), corrected_rates(audit)
    context = {
        "study": study,
        "audit": audit,
        "figures": figures_of(audit, intervals),
        "shares_tasks": intervals.shares_tasks,
        "corrected": html_tables(corrected_report(study, found)) if found else [],
    }
    return as_part(request, "judging/analysis/audits/_audit_figures.html", context)


@require_safe
@vary_on_headers("HX-Request")
@for_auditors
def audit_agreement(request: AppRequest, study: Study) -> HttpResponse:
    """The annotators against each other."""
    context = {"study": study, "agreement": agreement_of(study)}
    return as_part(request, "judging/analysis/audits/_audit_agreement.html", context)


def as_part(request: AppRequest, part: str, context: dict[str, Any]) -> HttpResponse:
    """A part of the page by itself, or on a page of its own for browsers without scripts."""
    if wants_partial(request):
        return render(request, part, context)
    return render(request, "judging/analysis/audits/audit_part.html", context | {"part": part})


@require_safe
@for_auditors
def audit_table(request: AppRequest, study: Study, name: str, ending: str) -> HttpResponse:
    """One of the page's tables as a file."""
    if name not in TABLES or ending not in FORMATS:
        raise Http404
    if name in PER_RUN:
        items = counted_items(study)
        record_unblindings(user=request.user, items=items, reason="table of an audit")
    return as_file(TABLES[name](study), ending)


@require_safe
@for_auditors
def audit_report(request: AppRequest, study: Study, ending: str) -> HttpResponse:
    """The whole audit as one document."""
    if ending not in FORMATS or ending == "csv":  # of which a file holds one table only
        raise Http404
    return attached(whole_report(study, ending), FORMATS[ending].content_type, f"report.{ending}")


@require_safe
@for_auditors
def audit_picture(request: AppRequest, study: Study, name: str) -> HttpResponse:
    """One of the page's pictures as a file."""
    if name not in QUESTIONS:
        raise Http404
    audit = audit_of(study)
    picture = draw(audit, name, resampled(audit)).picture
    return as_picture(picture, name)


@require_safe
@for_auditors
def audit_detectors(request: AppRequest, study: Study) -> HttpResponse:
    """Precision and recall of every detector, and the runs behind one number."""
    found = detectors_of(study)
    detector, cell = _chosen(request, found)
    items = items_of(detector, cell) if detector and cell else []
    record_unblindings(user=request.user, items=items, reason="detectors of an audit")
    context = {
        "study": study,
        "tables": html_tables(detectors_report(study, found)) if found.detectors else [],
        "causes": [(KINDS[kind], names) for kind, names in found.causes.items()],
        "cell": CELLS[cell] if cell else None,
        "items": items,
        "formats": FORMATS,
    }
    return render(request, "judging/analysis/audits/audit_detectors.html", context)


def _chosen(request: AppRequest, found: Detected) -> tuple[Detector | None, Cell | None]:
    if not request.GET.get("cell"):
        return None, None
    detector = found.named(request.GET.get("kind", ""), request.GET.get("detector", ""))
    try:
        cell = Cell(request.GET["cell"])
    except ValueError as error:
        raise BadQueryError(error, "cell") from error
    if detector is None:
        raise Http404
    return detector, cell
