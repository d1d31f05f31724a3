"""How far the runs of an experiment got."""

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from judging.analysis.audits.views import as_file
from judging.analysis.experiments.access_views import asked_of, choices_of, for_readers
from judging.analysis.experiments.freshness import freshness
from judging.analysis.experiments.population import Scope
from judging.analysis.progress.page import progress_page
from judging.analysis.progress.published import STEP_LIMITS
from judging.analysis.progress.report_query import ProgressAsked, read_options
from judging.analysis.progress.sources import (
    ProgressChoice,
    ProgressSource,
    default_progress_source,
    progress_choices,
    read_progress_source,
)
from judging.analysis.progress.tables import TABLE_NAMES, TABLES
from judging.analysis.reports import FORMATS
from judging.models import StudyItem
from judging.studies.access import record_unblindings
from runs.interface.fragments import AppRequest
from runs.operations.error_views import BadQueryError


@require_safe
@for_readers
def experiment_progress_rates(request: AppRequest, scope: Scope) -> HttpResponse:
    """Progress beside success, by step, under step limits, by difficulty, and in one score."""
    asked = progress_asked(request, scope)
    choices = progress_choices_of(scope)
    context = {
        "experiment": scope.experiment,
        "freshness": freshness(scope.experiment, request.user),
        "asked": asked.asked,
        "page": progress_page(asked, choices),
        "choices": choices_of(scope),
        "published_limits": STEP_LIMITS,
        "tables": TABLE_NAMES,
        "formats": FORMATS,
    }
    return render(request, "judging/analysis/progress/experiment_progress.html", context)


@require_safe
@for_readers
def experiment_progress_table(
    request: AppRequest, scope: Scope, name: str, ending: str
) -> HttpResponse:
    """One of the page's tables as a file."""
    if name not in TABLES or ending not in FORMATS:
        raise Http404
    asked = progress_asked(request, scope)
    if name == "runs":
        items = StudyItem.objects.filter(run__in=[row.run for row in asked.rows])
        record_unblindings(user=request.user, items=items, reason="progress of an experiment")
    return as_file(TABLES[name](asked), ending)


def progress_asked(request: AppRequest, scope: Scope) -> ProgressAsked:
    """What the address asks for; its sources are the defaults where it names none."""
    try:
        options = read_options(request.GET)
        source = progress_source_of(request, scope)
    except ValueError as error:
        raise BadQueryError(error, "progress") from error
    return ProgressAsked(asked_of(request, scope), source, options)


def progress_source_of(request: AppRequest, scope: Scope) -> ProgressSource:
    """The source of progress of the address. Raises ValueError."""
    if named := request.GET.get("progress"):
        return read_progress_source(named)
    return default_progress_source(progress_choices_of(scope))


def progress_choices_of(scope: Scope) -> list[ProgressChoice]:
    """The sources there are for the experiment's runs."""
    return progress_choices(scope.told)
