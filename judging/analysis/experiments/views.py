"""The figures of an experiment, and the runs behind them."""

from collections.abc import Sequence
from uuid import UUID, uuid4

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from judging.analysis.audits.views import as_file
from judging.analysis.experiments.access_views import asked_of, choices_of, for_readers, source_of
from judging.analysis.experiments.drawing import QUESTIONS, picture
from judging.analysis.experiments.freshness import freshness, freshness_since
from judging.analysis.experiments.page import experiment_page
from judging.analysis.experiments.parts import PARTS, shown_for
from judging.analysis.experiments.population import Scope
from judging.analysis.experiments.report import whole_report
from judging.analysis.experiments.report_query import ReportQuery
from judging.analysis.experiments.run_table import runs_table
from judging.analysis.experiments.runs_page import listed_runs, with_names
from judging.analysis.experiments.selection import Selection, read_selection
from judging.analysis.experiments.tables import TABLES
from judging.analysis.failure_modes.forms import FailureForm
from judging.analysis.failure_modes.pages import with_told
from judging.analysis.reports import FORMATS
from judging.models import StudyItem
from judging.studies.access import record_unblindings
from runs.interface.fragments import AppRequest, wants_partial
from runs.models.parsing import read_number
from runs.operations.error_views import BadQueryError

PER_PAGE = 100


@require_safe
@for_readers
def experiment_detail(request: AppRequest, scope: Scope) -> HttpResponse:
    """The figures of every configuration under one source; parts are fetched after the page."""
    choices = choices_of(scope)
    asked = ReportQuery(scope=scope, source=source_of(request, choices))
    context = {
        "experiment": scope.experiment,
        "page": experiment_page(asked, choices),
        "freshness": freshness(scope.experiment, request.user),
        **shown_for(scope),
        "formats": FORMATS,
    }
    return render(request, "judging/analysis/experiments/experiment.html", context)


@require_safe
@for_readers
def experiment_freshness(request: AppRequest, scope: Scope) -> HttpResponse:
    """Whether runs have ended since the figures of a page were made, for that page to ask."""
    try:
        found = freshness_since(request.GET, scope.experiment, request.user)
    except ValueError as error:
        raise Http404 from error
    return render(
        request, "judging/analysis/experiments/_experiment_freshness.html", {"freshness": found}
    )


@require_safe
@vary_on_headers("HX-Request")
@for_readers
def experiment_part(request: AppRequest, scope: Scope, name: str) -> HttpResponse:
    """One part of the page, by itself or on a page of its own for browsers without scripts."""
    if name not in PARTS:
        raise Http404
    part, asked = PARTS[name], asked_of(request, scope)
    context = {
        "experiment": scope.experiment,
        "asked": asked,
        "figures": asked.figures,
        "name": name,
        "title": part.title,
        "part": f"judging/analysis/experiments/{part.template}.html",
        "token": uuid4(),
        "choices": choices_of(scope) if name == "trials" else [],
        **part.fill(asked, request.GET),
    }
    alone = wants_partial(request)
    return render(
        request,
        context["part"] if alone else "judging/analysis/experiments/experiment_part.html",
        context,
    )


@require_safe
@for_readers
def experiment_runs(request: AppRequest, scope: Scope) -> HttpResponse:
    """The runs behind a number."""
    asked = asked_of(request, scope)
    selection = _selection(request, asked)
    page = Paginator(listed_runs(asked, selection), PER_PAGE).get_page(request.GET.get("page"))
    listed = with_names(page.object_list, scope)
    _record(request, asked, [run.pk for run in listed], selection)
    context = {
        "experiment": scope.experiment,
        "asked": asked,
        "selection": selection,
        "chips": selection.chips(scope),
        "page": page,
        "listed": with_told(listed) if selection.tells_failures else listed,
        "formats": FORMATS,
        "form": FailureForm(),
        "batch": request.GET.get("batch", ""),
    }
    return render(request, "judging/analysis/experiments/experiment_runs.html", context)


@require_safe
@for_readers
def experiment_runs_file(request: AppRequest, scope: Scope, ending: str) -> HttpResponse:
    """The same runs as a file."""
    asked = asked_of(request, scope)
    if ending not in FORMATS:
        raise Http404
    selection = _selection(request, asked)
    runs = list(selection.runs(scope).values_list("pk", flat=True))
    _record(request, asked, runs, selection)
    return as_file(runs_table(asked, selection), ending)


@require_safe
@for_readers
def experiment_table(request: AppRequest, scope: Scope, name: str, ending: str) -> HttpResponse:
    """One of the page's tables as a file."""
    if name not in TABLES or ending not in FORMATS:
        raise Http404
    asked = asked_of(request, scope)
    if name == "runs":
        _record(request, asked, list(scope.told.values_list("pk", flat=True)))
    return as_file(TABLES[name](asked), ending)


@require_safe
@for_readers
def experiment_report(request: AppRequest, scope: Scope, ending: str) -> HttpResponse:
    """Everything that the page shows as one document."""
    if ending not in FORMATS or ending == "csv":
        raise Http404
    text = whole_report(asked_of(request, scope), ending)
    response = HttpResponse(text, content_type=FORMATS[ending].content_type)
    response["Content-Disposition"] = f'attachment; filename="experiment.{ending}"'
    return response


@require_safe
@for_readers
def experiment_picture(request: AppRequest, scope: Scope, name: str) -> HttpResponse:
    """One of the page's pictures as a file."""
    agent = request.GET.get("agent", "")
    number = read_number(agent)
    if name not in QUESTIONS or (agent and number is None):
        raise Http404
    try:
        drawn = picture(asked_of(request, scope), name, number)
    except KeyError as error:
        raise Http404 from error
    response = HttpResponse(drawn, content_type="image/svg+xml")
    response["Content-Disposition"] = f'attachment; filename="{name}.svg"'
    return response


def _selection(request: AppRequest, asked: ReportQuery) -> Selection:
    try:
        return read_selection(request.GET, asked.source)
    except ValueError as error:
        raise BadQueryError(error) from error


def _record(
    request: AppRequest,
    asked: ReportQuery,
    run_ids: Sequence[UUID],
    selection: Selection | None = None,
) -> None:
    """Whoever reads verdicts of runs is noted, as in the lists of an audit."""
    if asked.source.tells_judgements or (selection and selection.tells_judgements):
        items = StudyItem.objects.filter(run__in=run_ids)
        record_unblindings(user=request.user, items=items, reason="runs of an experiment")
