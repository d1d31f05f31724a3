"""Two evaluators compared, and evaluators beside people."""

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from judging.analysis.audits.ceiling import ceiling_of, people_page
from judging.analysis.audits.compare_page import compare_page, default_pair, pair_rows
from judging.analysis.audits.comparison import compare, compare_all
from judging.analysis.audits.comparison_tables import comparison_table
from judging.analysis.audits.verdict_sources import VerdictSource, Voices, voices_of
from judging.analysis.audits.views import as_part
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
    voices = voices_of(study)
    pair = _pair(request, voices)
    context = {
        "study": study,
        "voices": voices,
        "page": compare_page(study, voices, *pair) if pair else None,
        "formats": FORMATS,
    }
    return render(request, "judging/analysis/audits/audit_compare.html", context)


@require_safe
@vary_on_headers("HX-Request")
@for_auditors
def audit_pairs(request: AppRequest, study: Study) -> HttpResponse:
    """All pairs of evaluators, which take longer than two of them."""
    pairs = pair_rows(study, compare_all(study, voices_of(study)))
    return as_part(
        request, "judging/analysis/audits/_compare_pairs.html", {"study": study, "pairs": pairs}
    )


@require_safe
@for_auditors
def audit_compare_file(request: AppRequest, study: Study, ending: str) -> HttpResponse:
    """The comparison of two evaluators as a file: whole and by group."""
    pair = _pair(request, voices_of(study))
    if ending not in FORMATS or pair is None:
        raise Http404
    return as_file(comparison_table(study, compare(study, *pair)), ending)


@require_safe
@for_auditors
def audit_people(request: AppRequest, study: Study) -> HttpResponse:
    """Evaluators against each annotator, beside the annotators against each other."""
    page = people_page(study, ceiling_of(study, voices_of(study)))
    return render(
        request, "judging/analysis/audits/audit_people.html", {"study": study, "page": page}
    )


def _pair(request: AppRequest, voices: Voices) -> tuple[VerdictSource, VerdictSource] | None:
    """The two evaluators of the address; those that most come for where it names none."""
    if "first" not in request.GET and "second" not in request.GET:
        return default_pair(voices)
    try:
        first, second = (voices.named(request.GET.get(key, "")) for key in ("first", "second"))
    except ValueError as error:
        raise BadQueryError(error) from error
    if first not in voices.evaluators or second not in voices.evaluators or first == second:
        raise Http404
    return first, second
