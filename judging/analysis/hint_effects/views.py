"""What hints changed in an experiment: heat maps, the tasks behind a cell, files."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from judging.analysis.experiments.access import (
    Freshness,
    facts_of,
    for_readers,
    record_verdicts,
    render_facts,
)
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
from judging.analysis.reports.views import as_picture
from runs.interface.fragments import AppRequest
from runs.launching.experiments.hint_plans import Condition
from webagent.knowledge.entries import Level, Relatedness


@require_safe
@for_readers
def hint_report(request: AppRequest, scope: Scope) -> HttpResponse:
    """Every condition against the same agent without hints."""
    facts = facts_of(request, scope)
    effects = facts.hints
    # Of one trial the best is that one.
    maps = {name: each for name, each in MAPS.items() if name != "best" or effects.planned > 1}
    pictures = [(name, each, heat_map(effects, name)) for name, each in maps.items()]
    return render_facts(
        request,
        "hint_effects/hint_report",
        facts,
        freshness=Freshness(scope.experiment, request.user),
        effects=effects,
        choices=facts.choices,
        report_tables=html_tables(HINTS.make("hint-cells", facts)) if effects.cells else [],
        baseline=baseline_share(effects),
        undecided=all_undecided(effects),
        chance_alarm=chance_alarm(len(effects.cells)),
        pictures=pictures if effects.cells else [],
        tables=HINTS.names,
    )


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
    record_verdicts(request, facts.source, page["run_ids"])
    return render_facts(request, "hint_effects/hint_cell", facts, page=page)


@require_safe
@for_readers
def hint_picture(request: AppRequest, scope: Scope, name: str) -> HttpResponse:
    """One of the heat maps as a file."""
    if name not in MAPS:
        raise Http404
    return as_picture(heat_map(facts_of(request, scope).hints, name), f"hints-{name}")
