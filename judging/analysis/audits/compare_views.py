"""Two evaluators compared, and evaluators beside people."""

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from judging.analysis.audits.ceiling import ceiling_of, ceiling_picture
from judging.analysis.audits.compare_page import compare_page, default_pair
from judging.analysis.audits.comparison import compare
from judging.analysis.audits.comparison_reports import (
    comparison_report,
    pairs_table,
    people_report,
)
from judging.analysis.audits.verdict_sources import VerdictSource, VerdictSources, sources_of
from judging.analysis.audits.views import as_part
from judging.analysis.reports.html import html_tables
from judging.analysis.reports.views import as_file
from judging.analysis.reports.writing import FORMATS
from judging.models import Study
from judging.studies.access import for_auditors
from runs.interface.fragments import AppRequest
from runs.operations.error_views import BadQueryError


@require_safe
@for_auditors
def audit_compare(request: AppRequest, study: Study) -> HttpResponse:
    """What a second evaluator repairs and breaks of a first one."""
    sources = sources_of(study)
    pair = _pair(request, sources)
    context = {
        "study": study,
        "sources": sources,
        "page": compare_page(study, sources, *pair) if pair else None,
        "formats": FORMATS,
    }
    return render(request, "judging/analysis/audits/audit_compare.html", context)


@require_safe
@vary_on_headers("HX-Request")
@for_auditors
def audit_pairs(request: AppRequest, study: Study) -> HttpResponse:
    """All pairs of evaluators, which take longer than two of them."""
    report = pairs_table(study)
    context = {"study": study, "name": "pairs", "title": _("All pairs"), "plain": True}
    context |= {"report": report, "tables": html_tables(report)}
    return as_part(request, "judging/analysis/_report_section.html", context)


@require_safe
@for_auditors
def audit_compare_file(request: AppRequest, study: Study, ending: str) -> HttpResponse:
    """The comparison of two evaluators as a file: whole and by group."""
    pair = _pair(request, sources_of(study))
    if ending not in FORMATS or pair is None:
        raise Http404
    return as_file(comparison_report(study, compare(study, *pair)), ending)


@require_safe
@for_auditors
def audit_people(request: AppRequest, study: Study) -> HttpResponse:
    """Evaluators against each annotator, beside the annotators against each other."""
    ceiling = ceiling_of(study, sources_of(study))
    context = {
        "study": study,
        "annotators": ceiling.annotators,
        "picture": ceiling_picture(study, ceiling),
        "tables": html_tables(people_report(study, ceiling)),
    }
    return render(request, "judging/analysis/audits/audit_people.html", context)


def _pair(
    request: AppRequest, sources: VerdictSources
) -> tuple[VerdictSource, VerdictSource] | None:
    """The two evaluators of the address; those that most come for where it names none."""
    if "first" not in request.GET and "second" not in request.GET:
        return default_pair(sources)
    try:
        first, second = (sources.named(request.GET.get(key, "")) for key in ("first", "second"))
    except ValueError as error:
        raise BadQueryError(error) from error
    if first not in sources.evaluators or second not in sources.evaluators or first == second:
        raise Http404
    return first, second
