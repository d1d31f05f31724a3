"""The figures of an experiment, and the runs behind them."""

from dataclasses import replace
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from judging.analysis.experiments.access import facts_of, for_readers, with_modes_by
from judging.analysis.experiments.controls import controls_name, launch_controls
from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.figures import names_in
from judging.analysis.experiments.freshness import freshness, freshness_since
from judging.analysis.experiments.pictures import QUESTIONS, draw
from judging.analysis.experiments.population import RunResult, Scope
from judging.analysis.experiments.reports import EXPERIMENT, document
from judging.analysis.experiments.sections import SECTIONS, shown_for
from judging.analysis.experiments.selection import Selection, read_selection
from judging.analysis.failure_modes.forms import FailureForm
from judging.analysis.failure_modes.pages import with_failure_modes
from judging.analysis.gate.reading import command_line
from judging.analysis.reports.html import html_tables
from judging.analysis.reports.report import Cell
from judging.analysis.reports.views import (
    as_file,
    as_picture,
    attached,
    check_address,
    record_reading,
)
from judging.analysis.reports.writing import FORMATS
from runs.catalogue.tasks.offered import PlanError
from runs.interface.fragments import AppRequest, wants_partial
from runs.models import Task
from runs.models.experiments import HINTS_KEY
from runs.models.parsing import read_number
from runs.operations.error_views import BadQueryError

PER_PAGE = 100
READ = "runs of an experiment"


@require_safe
@for_readers
def experiment_detail(request: AppRequest, scope: Scope) -> HttpResponse:
    """The figures of every configuration under one source; sections are fetched after the page."""
    facts = facts_of(request, scope)
    report = EXPERIMENT.make("configurations", facts)
    undecided = facts.figures.standings[RunResult.NONE]
    context = {
        "experiment": scope.experiment,
        "facts": facts,
        "source": facts.source,
        "report": report,
        "report_tables": html_tables(report),
        "undecided": Cell(undecided, facts.url(standing=RunResult.NONE)),
        "has_hints": any(each.agent.config.get(HINTS_KEY) for each in facts.configurations),
        "gate_command": command_line(facts.source, str(scope.experiment.pk), "…"),
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
    """One section of the page, by itself or on a page of its own for browsers without scripts."""
    if name not in SECTIONS:
        raise Http404
    section, facts = SECTIONS[name], with_modes_by(request, facts_of(request, scope))
    context = {
        "experiment": scope.experiment,
        "facts": facts,
        "source": facts.source,
        "name": name,
        "section": section.template,
        "token": uuid4(),
        **section.context(facts, request.GET),
    }
    whole = "judging/analysis/experiments/experiment_part.html"
    return render(request, section.template if wants_partial(request) else whole, context)


@require_safe
@for_readers
def experiment_runs(request: AppRequest, scope: Scope) -> HttpResponse:
    """The runs behind a number."""
    facts = facts_of(request, scope)
    selection = _selection(request, facts)
    runs = selection.runs(scope).for_list()  # type: ignore[attr-defined]  # they are runs
    ordered = runs.order_by(
        "task__task_set__name", "task__external_id", "agent", "trial", "seed", "pk"
    )
    page = Paginator(ordered, PER_PAGE).get_page(request.GET.get("page"))
    listed, names = list(page.object_list), names_in(scope)
    for run in listed:
        run.configuration = names.get(run.agent_id, "")
    if _tells_judgements(facts, selection):
        record_reading(request, [run.pk for run in listed], READ)
    context = {
        "experiment": scope.experiment,
        "source": facts.source,
        "selection": selection,
        "chips": selection.chips(scope),
        "page": page,
        "listed": with_failure_modes(listed) if selection.tells_failures else listed,
        "formats": FORMATS,
        "form": FailureForm(),
        "batch": request.GET.get("batch", ""),
    }
    return render(request, "judging/analysis/experiments/experiment_runs.html", context)


@require_safe
@for_readers
def experiment_runs_file(request: AppRequest, scope: Scope, ending: str) -> HttpResponse:
    """The same runs as a file."""
    facts = facts_of(request, scope)
    check_address(ending)
    selection = _selection(request, facts)
    if _tells_judgements(facts, selection):
        record_reading(request, selection.runs(scope).values_list("pk", flat=True), READ)
    selected = Facts(scope, replace(facts.query, selection=selection))
    return as_file(EXPERIMENT.make("runs", selected), ending)


@require_safe
@for_readers
def experiment_table(request: AppRequest, scope: Scope, name: str, ending: str) -> HttpResponse:
    """One of the page's reports as a file."""
    check_address(ending, name, EXPERIMENT)
    facts = facts_of(request, scope)
    if EXPERIMENT.entries[name].lists_runs and facts.source.tells_judgements:
        record_reading(request, scope.visible.values_list("pk", flat=True), READ)
    return as_file(EXPERIMENT.make(name, facts), ending)


@require_safe
@for_readers
def experiment_report(request: AppRequest, scope: Scope, ending: str) -> HttpResponse:
    """Everything that the page shows as one document."""
    if ending not in FORMATS or ending == "csv":
        raise Http404
    text = document(facts_of(request, scope), ending)
    return attached(text, FORMATS[ending].content_type, f"experiment.{ending}")


@require_safe
@for_readers
def experiment_picture(request: AppRequest, scope: Scope, name: str) -> HttpResponse:
    """One of the page's pictures as a file."""
    agent = request.GET.get("agent", "")
    number = read_number(agent)
    if name not in QUESTIONS or (agent and number is None):
        raise Http404
    drawn = draw(facts_of(request, scope), name)
    picture = drawn.get(0) or drawn.get(number or 0)
    if picture is None:
        raise Http404
    return as_picture(picture, name)


def _selection(request: AppRequest, facts: Facts) -> Selection:
    try:
        return read_selection(request.GET, facts.source)
    except ValueError as error:
        raise BadQueryError(error) from error


def _tells_judgements(facts: Facts, selection: Selection) -> bool:
    return facts.source.tells_judgements or selection.tells_judgements


@require_POST
@permission_required("runs.rerun_run", raise_exception=True)
@for_readers
def controls_launch(request: AppRequest, scope: Scope) -> HttpResponse:
    """Launch the control agents on the tasks of this experiment, as an experiment beside it."""
    shown = scope.visible.order_by()
    tasks = Task.objects.filter(pk__in=shown.values("task")).select_related("task_set").in_order()
    name = controls_name(scope.experiment)
    try:
        launched = launch_controls(name=name, tasks=tasks, token=_token(request), user=request.user)
    except PlanError as error:
        messages.error(request, str(error))
        return redirect("judging:experiment_detail", scope.experiment.pk)
    messages.success(request, _("Controls started."))
    return redirect("judging:experiment_detail", launched.experiment.pk)


def _token(request: AppRequest) -> UUID:
    try:
        return UUID(request.POST.get("token", ""))
    except ValueError as error:
        raise Http404 from error
