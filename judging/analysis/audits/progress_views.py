"""A judge's progress rates beside what people ticked."""

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from judging.analysis.audits.views import as_file
from judging.analysis.progress.people import CELLS, people_progress
from judging.analysis.progress.people_page import (
    TOLERANCES,
    PeoplePage,
    items_behind,
    people_page,
    read_chosen,
)
from judging.analysis.progress.people_tables import TABLE_NAMES, TABLES
from judging.analysis.progress.published import (
    ENVIRONMENTS,
    JUDGE_DOLLARS,
    OVERALL,
    PEOPLE_DOLLARS,
    SAMPLES,
)
from judging.analysis.reports import FORMATS
from judging.models import Study, StudyItem
from judging.studies.access import for_auditors, record_unblindings
from runs.interface.fragments import AppRequest
from runs.operations.error_views import BadQueryError


@require_safe
@for_auditors
def audit_progress(request: AppRequest, study: Study) -> HttpResponse:
    """How well an evaluator of milestones corresponds with people, and the runs behind it."""
    page = _page(request, study)
    items = items_behind(page)
    farthest = StudyItem.objects.filter(pk__in=[pair.ticked.item for pair in page.farthest])
    record_unblindings(user=request.user, items=[*items, *farthest], reason="progress of an audit")
    context = {
        "study": study,
        "page": page,
        "items": items,
        "cell": CELLS[page.chosen.cell] if page.chosen.cell else "",
        "tolerances": TOLERANCES,
        "published": {
            "environments": ENVIRONMENTS,
            "overall": OVERALL,
            "judge": JUDGE_DOLLARS / SAMPLES,
            "people": PEOPLE_DOLLARS / SAMPLES,
            "times": PEOPLE_DOLLARS // JUDGE_DOLLARS,
        },
        "tables": TABLE_NAMES,
        "formats": FORMATS,
    }
    return render(request, "judging/analysis/audits/audit_progress.html", context)


@require_safe
@for_auditors
def audit_progress_table(request: AppRequest, study: Study, name: str, ending: str) -> HttpResponse:
    """One of the page's tables as a file."""
    if name not in TABLES or ending not in FORMATS:
        raise Http404
    page = _page(request, study)
    if name == "runs" and page.against:
        pairs = page.against.pairs
        items = StudyItem.objects.filter(pk__in=[pair.ticked.item for pair in pairs])
        record_unblindings(user=request.user, items=items, reason="progress of an audit")
    return as_file(TABLES[name](page), ending)


def _page(request: AppRequest, study: Study) -> PeoplePage:
    try:
        chosen = read_chosen(request.GET)
    except ValueError as error:
        raise BadQueryError(error) from error
    return people_page(people_progress(study), chosen)
