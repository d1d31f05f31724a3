"""What hints changed in an experiment: heat maps, the tasks behind a cell, files."""

from collections.abc import Sequence
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from judging.analysis.experiments.access import facts_of, for_readers
from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.freshness import freshness
from judging.analysis.experiments.population import Scope
from judging.analysis.hint_effects.page import (
    all_undecided,
    baseline_share,
    cell_page,
    chance_alarm,
)
from judging.analysis.hint_effects.pictures import MAPS, heat_map
from judging.analysis.hint_effects.reports import HINTS
from judging.analysis.reports.html import html_tables
from judging.analysis.reports.views import as_file, as_picture, check_address, record_reading
from judging.analysis.reports.writing import FORMATS
from runs.interface.fragments import AppRequest
from runs.launching.experiments.hint_plans import Condition
from webagent.knowledge.entries import Level, Relatedness


@require_safe
@for_readers
def hint_report(request: AppRequest, scope: Scope) -> HttpResponse:
    """Every condition against the same agent without hints."""
    facts = facts_of(request, scope)
    effects = facts.hints
    pictures = [(name, each, heat_map(effects, name)) for name, each in MAPS.items()]
    context = {
        "experiment": scope.experiment,
        "freshness": freshness(scope.experiment, request.user),
        "source": facts.source,
        "effects": effects,
        "choices": facts.choices,
        "report_tables": html_tables(HINTS.make("hint-cells", facts)) if effects.cells else [],
        "baseline": baseline_share(effects),
        "undecided": all_undecided(effects),
        "chance_alarm": chance_alarm(len(effects.cells)),
        "pictures": pictures if effects.cells else [],
        "tables": HINTS.names,
        "formats": FORMATS,
    }
    return render(request, "judging/analysis/hint_effects/hint_report.html", context)


@require_safe
@for_readers
def hint_cell(request: AppRequest, scope: Scope, level: str, relatedness: str) -> HttpResponse:
    """The tasks of one condition, each with its trials side by side."""
    facts = facts_of(request, scope)
    try:
        condition = Condition(Level(level), Relatedness(relatedness))
        page = cell_page(facts.hints, condition, request.user)
    except (ValueError, KeyError) as error:
        raise Http404 from error
    _record(request, facts, page.run_ids)
    context = {
        "experiment": scope.experiment,
        "source": facts.source,
        "effects": facts.hints,
        "page": page,
    }
    return render(request, "judging/analysis/hint_effects/hint_cell.html", context)


@require_safe
@for_readers
def hint_table(request: AppRequest, scope: Scope, name: str, ending: str) -> HttpResponse:
    """Cells, tasks or trials as a file."""
    check_address(ending, name, HINTS)
    facts = facts_of(request, scope)
    if HINTS.entries[name].lists_runs:
        _record(request, facts, facts.hints.run_ids)
    return as_file(HINTS.make(name, facts), ending)


@require_safe
@for_readers
def hint_picture(request: AppRequest, scope: Scope, name: str) -> HttpResponse:
    """One of the heat maps as a file."""
    if name not in MAPS:
        raise Http404
    return as_picture(heat_map(facts_of(request, scope).hints, name), f"hints-{name}")


def _record(request: AppRequest, facts: Facts, run_ids: Sequence[UUID]) -> None:
    if facts.source.tells_judgements:
        record_reading(request, run_ids, "runs of an experiment")
