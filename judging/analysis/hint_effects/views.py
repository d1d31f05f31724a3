"""What hints changed in an experiment: heat maps, the tasks behind a cell, files."""

from collections.abc import Sequence
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from judging.analysis.audits.views import as_file
from judging.analysis.experiments.access_views import asked_of, choices_of, for_readers
from judging.analysis.experiments.freshness import freshness
from judging.analysis.experiments.population import Scope
from judging.analysis.hint_effects.drawing import MAPS, heat_map
from judging.analysis.hint_effects.page import (
    all_undecided,
    baseline_share,
    cell_page,
    cell_rows,
    chance_alarm,
)
from judging.analysis.hint_effects.reading import HintEffects, hint_effects
from judging.analysis.hint_effects.tables import HINT_TABLE_NAMES, HINT_TABLES, PER_RUN
from judging.analysis.reports import FORMATS
from judging.models import StudyItem
from judging.studies.access import record_unblindings
from runs.interface.fragments import AppRequest
from runs.launching.hint_experiments.plans import Condition
from webagent.knowledge.entries import Level, Relatedness


@require_safe
@for_readers
def hint_report(request: AppRequest, scope: Scope) -> HttpResponse:
    """Every condition against the same agent without hints."""
    effects = hint_effects(asked_of(request, scope))
    pictures = [(name, each, heat_map(effects, name)) for name, each in MAPS.items()]
    context = {
        "experiment": scope.experiment,
        "freshness": freshness(scope.experiment, request.user),
        "asked": effects.asked,
        "effects": effects,
        "choices": choices_of(scope),
        "rows": cell_rows(effects),
        "baseline": baseline_share(effects),
        "undecided": all_undecided(effects),
        "chance_alarm": chance_alarm(len(effects.cells)),
        "pictures": pictures if effects.cells else [],
        "tables": HINT_TABLE_NAMES,
        "formats": FORMATS,
    }
    return render(request, "judging/analysis/hint_effects/hint_report.html", context)


@require_safe
@for_readers
def hint_cell(request: AppRequest, scope: Scope, level: str, relatedness: str) -> HttpResponse:
    """The tasks of one condition, each with its trials side by side."""
    effects = hint_effects(asked_of(request, scope))
    try:
        condition = Condition(Level(level), Relatedness(relatedness))
        page = cell_page(effects, condition, request.user)
    except (ValueError, KeyError) as error:
        raise Http404 from error
    _record(request, effects, page.run_ids)
    context = {
        "experiment": scope.experiment,
        "asked": effects.asked,
        "effects": effects,
        "page": page,
    }
    return render(request, "judging/analysis/hint_effects/hint_cell.html", context)


@require_safe
@for_readers
def hint_table(request: AppRequest, scope: Scope, name: str, ending: str) -> HttpResponse:
    """Cells, tasks or trials as a file."""
    if name not in HINT_TABLES or ending not in FORMATS:
        raise Http404
    effects = hint_effects(asked_of(request, scope))
    if name in PER_RUN:
        _record(request, effects, effects.run_ids)
    return as_file(HINT_TABLES[name](effects), ending)


@require_safe
@for_readers
def hint_picture(request: AppRequest, scope: Scope, name: str) -> HttpResponse:
    """One of the heat maps as a file."""
    if name not in MAPS:
        raise Http404
    drawn = heat_map(hint_effects(asked_of(request, scope)), name)
    response = HttpResponse(drawn, content_type="image/svg+xml")
    response["Content-Disposition"] = f'attachment; filename="hints-{name}.svg"'
    return response


def _record(request: AppRequest, effects: HintEffects, run_ids: Sequence[UUID]) -> None:
    """Whoever reads verdicts of runs is noted, as in the lists of an audit."""
    if effects.asked.source.tells_judgements:
        items = StudyItem.objects.filter(run__in=run_ids)
        record_unblindings(user=request.user, items=items, reason="runs of an experiment")
