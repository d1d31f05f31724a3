"""The figures of an experiment, the runs behind them, and two experiments side by side."""

from typing import Any
from uuid import UUID, uuid4

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from judging.analysis.experiments.access import (
    PERMISSIONS,
    Freshness,
    facts_of,
    for_readers,
    progress_facts_of,
    read_value,
    record_reading,
    record_verdicts,
    render_facts,
    scope_of,
    studies_of,
)
from judging.analysis.experiments.comparison import Comparison, compare_page, comparison_report
from judging.analysis.experiments.controls import controls_name, launch_controls
from judging.analysis.experiments.course_reports import modes_among
from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.figures import configuration_names, names_in, place_among
from judging.analysis.experiments.pairs import Cell as PairCell
from judging.analysis.experiments.pairs import Side
from judging.analysis.experiments.pictures import PICTURES, shown_sections
from judging.analysis.experiments.population import RunResult, Scope
from judging.analysis.experiments.reports import EXPERIMENT, SECTIONS, document, shown_for
from judging.analysis.experiments.selection import Selection, read_chosen
from judging.analysis.failure_modes.pages import FailureForm, with_failure_modes
from judging.analysis.gate.reading import command_line
from judging.analysis.hint_effects.reports import HINTS
from judging.analysis.progress.reports import PROGRESS
from judging.analysis.progress.rows import KNOWN, Progressed
from judging.analysis.progress.sources import Missing
from judging.analysis.reports.registry import (
    Registry,
    as_file,
    as_picture,
    attached,
    check_address,
    html_tables,
)
from judging.analysis.reports.report import Cell
from judging.analysis.reports.writing import FORMATS
from runs.interface.requests import AppRequest, needs, wants_partial
from runs.launching.experiments.selection import PlanError
from runs.models import AgentConfiguration, Experiment, Task
from runs.models.experiments import HINTS_KEY
from runs.models.parsing import QueryError, read_number
from runs.operations.error_views import BadQueryError, bad_queries

PER_PAGE = 100
MOST_OFFERED = 300
KEPT = ("a", "b", "a_agent", "b_agent", "pair")
"""What stays in the address of a comparison when another source is chosen."""


@for_readers
def experiment_detail(request: AppRequest, scope: Scope) -> HttpResponse:
    """The figures of every configuration under one source; sections are fetched after the page."""
    facts = facts_of(request, scope)
    report = EXPERIMENT.make("configurations", facts)
    undecided = facts.figures.standings[RunResult.NONE]
    return render_facts(
        request,
        "experiments/experiment",
        facts,
        report=report,
        report_tables=html_tables(report),
        undecided=Cell(undecided, facts.url(standing=RunResult.NONE)),
        has_hints=any(each.agent.config.get(HINTS_KEY) for each in facts.configurations),
        gate_command=command_line(facts.source, str(scope.experiment.pk), "…"),
        freshness=Freshness(scope.experiment, request.user),
        judged_in=studies_of(scope, request.user),
        **shown_for(scope),
    )


@for_readers
def experiment_freshness(request: AppRequest, scope: Scope) -> HttpResponse:
    """Whether runs have ended since the figures of a page were made, for that page to ask."""
    try:
        found = Freshness(scope.experiment, request.user, request.GET)
    except ValueError as error:
        raise Http404 from error
    return render(
        request, "judging/analysis/experiments/_experiment_freshness.html", {"freshness": found}
    )


@for_readers
def experiment_part(request: AppRequest, scope: Scope, name: str) -> HttpResponse:
    """One section of the page, by itself or on a page of its own for browsers without scripts."""
    if name not in SECTIONS:
        raise Http404
    section, facts = SECTIONS[name], facts_of(request, scope)
    template = section.template if wants_partial(request) else "experiments/experiment_part"
    context = section.context(facts, request.GET)
    shown = f"judging/analysis/{section.template}.html"
    return render_facts(
        request, template, facts, name=name, section=shown, token=uuid4(), **context
    )


@for_readers
def experiment_progress_rates(request: AppRequest, scope: Scope) -> HttpResponse:
    """Progress beside success, by step, under step limits, by difficulty, and in one score."""
    facts = progress_facts_of(request, scope)
    found = Progressed(facts.rows)
    return render_facts(
        request,
        "progress/experiment_progress",
        facts,
        freshness=Freshness(scope.experiment, request.user),
        found=found,
        missing=[
            (why.label, Cell(n, facts.progress_url(why)))
            for why in Missing
            if (n := found.missing.get(why, 0))
        ],
        splits=(("milestones", _("more milestones than")), ("level", _("by the task's level"))),
        undecided_url=facts.progress_url(KNOWN, standing=RunResult.NONE),
        sections=shown_sections(facts) if facts.progress_choices else [],
        tables=PROGRESS.names,
    )


@for_readers
def experiment_runs(request: AppRequest, scope: Scope) -> HttpResponse:
    """The runs behind a number."""
    facts = facts_of(request, scope)
    selection = _selection(request, facts)
    runs = selection.runs(scope).for_list()  # type: ignore[attr-defined]  # they are runs
    names = names_in(scope)
    task = ("task__task_set__name", "task__external_id")
    ordered = runs.order_by(*task, place_among(names), "agent_id", "trial", "seed", "pk")
    page = Paginator(ordered, PER_PAGE).get_page(request.GET.get("page"))
    listed = list(page.object_list)
    for run in listed:
        run.configuration = names.get(run.agent_id, "")
    record_verdicts(request, selection, [run.pk for run in listed])
    return render_facts(
        request,
        "experiments/experiment_runs",
        facts,
        selection=selection,
        chips=selection.chips(scope),
        page=page,
        one_trial=_only(page, [run.trial for run in listed]),
        one_seed=_only(page, [run.seed for run in listed]),
        listed=with_failure_modes(listed) if selection.tells_failures else listed,
        form=FailureForm(),
        batch=request.GET.get("batch", ""),
        modes=html_tables(modes_among(facts, selection.chosen)) if selection.tells_failures else [],
    )


def _only(page: Page[Any], values: list[int | None]) -> int | None:
    """What all runs have, which is then said once; None where they differ, or go on elsewhere."""
    return values[0] if len(set(values)) == 1 and not page.has_other_pages() else None


@for_readers
def experiment_runs_file(request: AppRequest, scope: Scope, ending: str) -> HttpResponse:
    """The same runs as a file."""
    facts = facts_of(request, scope)
    check_address(ending)
    selection = _selection(request, facts)
    record_verdicts(request, selection, selection.runs(scope).values_list("pk", flat=True))
    return as_file(EXPERIMENT.make("runs", facts.under(selection=selection)), ending)


def _selection(request: AppRequest, facts: Facts) -> Selection:
    with bad_queries():
        return Selection(facts.source, read_chosen(request.GET))


@for_readers
def experiment_table(
    request: AppRequest, scope: Scope, name: str, ending: str, registry: Registry[Facts]
) -> HttpResponse:
    """One of the reports on the experiment, its progress or its hints as a file."""
    check_address(ending, name, registry)
    facts = (progress_facts_of if registry is PROGRESS else facts_of)(request, scope)
    if registry.entries[name].lists_runs:
        if registry is PROGRESS:
            record_reading(request, [row.run for row in facts.rows], "progress of an experiment")
        elif registry is HINTS:
            record_verdicts(request, facts.source, facts.hints.run_ids)
        else:
            record_verdicts(request, facts.source, scope.visible.values_list("pk", flat=True))
    return as_file(registry.make(name, facts), ending)


@for_readers
def experiment_report(request: AppRequest, scope: Scope, ending: str) -> HttpResponse:
    """Everything that the page shows as one document."""
    if ending not in FORMATS or ending == "csv":
        raise Http404
    text = document(facts_of(request, scope), ending)
    return attached(text, FORMATS[ending].content_type, f"experiment.{ending}")


@for_readers
def experiment_picture(request: AppRequest, scope: Scope, name: str) -> HttpResponse:
    """One of the page's pictures as a file."""
    agent = request.GET.get("agent", "")
    number = read_number(agent)
    if name not in PICTURES or (agent and number is None):
        raise Http404
    drawn = PICTURES[name](facts_of(request, scope))
    picture = drawn.get(0) or drawn.get(number or 0)
    if picture is None:
        raise Http404
    return as_picture(picture, name)


@require_POST
@needs(*PERMISSIONS, "runs.rerun_run")
def controls_launch(request: AppRequest, experiment_id: int) -> HttpResponse:
    """Launch the control agents on the tasks of this experiment, as an experiment beside it."""
    scope = scope_of(request, experiment_id)
    shown = scope.visible.order_by()
    tasks = Task.objects.filter(pk__in=shown.values("task")).select_related("task_set").in_order()
    name = controls_name(scope.experiment)
    try:
        token = UUID(request.POST.get("token", ""))
    except ValueError as error:
        raise Http404 from error
    try:
        launched = launch_controls(name=name, tasks=tasks, token=token, user=request.user)
    except PlanError as error:
        messages.error(request, str(error))
        return redirect("judging:experiment_detail", scope.experiment.pk)
    messages.success(request, _("Started."))
    return redirect("judging:experiment_detail", launched.experiment.pk)


@require_safe
@needs(*PERMISSIONS)
def experiment_compare(request: AppRequest) -> HttpResponse:
    """How far two sides lie apart, and which of their runs flip."""
    newest = Experiment.objects.visible_to(request.user)[:MOST_OFFERED]
    offered = [(str(each.pk), each.name) for each in newest]
    chosen = {letter: request.GET.get(letter, "") for letter in "ab"}
    context: dict[str, object] = {"offered": [("", _("choose one")), *offered], "chosen": chosen}
    context["is_choice"] = len(offered) > 1
    if all(chosen.values()):
        facts, compared = _comparison(request)
        page = compare_page(compared, read_value(request, "cell", PairCell), request.GET)
        listed = [run.run for pair in page["rows"] for run in pair]
        listed += [run.run for _name, run in page["alone"]]
        record_verdicts(request, facts.source, listed)
        kept = [(key, value) for key, value in request.GET.items() if key in KEPT]
        context |= {"page": page, "comparison": compared, "kept": kept}
        context |= {"facts": facts, "source": facts.source}
    elif named := [letter for letter in "ab" if chosen[letter]]:
        context["alone"] = _side(request, named[0]).scope.experiment.name
    return render(request, "judging/analysis/experiments/experiment_compare.html", context)


@require_safe
@needs(*PERMISSIONS)
def experiment_compare_file(request: AppRequest, ending: str) -> HttpResponse:
    """The same as a file: the counts, the figures and what flips."""
    if not (request.GET.get("a") and request.GET.get("b")) or ending not in FORMATS:
        raise Http404
    facts, compared = _comparison(request)
    flipped = [run.run for pair in compared.pairing.flipped for run in pair]
    record_verdicts(request, facts.source, flipped)
    return as_file(comparison_report(compared), ending)


def _comparison(request: AppRequest) -> tuple[Facts, Comparison]:
    """The facts of the first side of the address, and both sides compared under their source."""
    first, second = _side(request, "a"), _side(request, "b")
    facts = facts_of(request, first.scope)
    return facts, Comparison(first, second, facts.source, facts.query.by)


def _side(request: AppRequest, letter: str) -> Side:
    try:
        scope = scope_of(request, read_number(request.GET[letter]) or 0)
    except Http404:  # as much for one that is hidden
        raise BadQueryError(QueryError(letter)) from None
    wanted = request.GET.get(f"{letter}_agent")
    if not wanted:
        return Side(scope=scope)
    agents = AgentConfiguration.objects.filter(pk__in=scope.visible.order_by().values("agent"))
    agent = get_object_or_404(agents, pk=read_number(wanted) or 0)
    return Side(scope=scope, agent=agent, agent_name=configuration_names(agents)[agent.pk])
