"""Detectors of anomalies beside people."""

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from judging.analysis.audits.detectors import (
    CELLS,
    KINDS,
    Cell,
    Detected,
    Detector,
    detectors_of,
    items_of,
)
from judging.analysis.reports import FORMATS
from judging.models import Study
from judging.studies.access import for_auditors, record_unblindings
from runs.interface.fragments import AppRequest
from runs.operations.error_views import BadQueryError


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
        "found": found,
        "causes": [(KINDS[kind], names) for kind, names in found.causes.items()],
        "kinds": KINDS,
        "detector": detector,
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
