"""Two experiments, or two configurations, held against each other."""

from collections.abc import Sequence
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from judging.analysis.audits.views import as_file
from judging.analysis.experiments.access_views import (
    choices_of,
    demand_permissions,
    pairing_of,
    scope_of,
    source_of,
)
from judging.analysis.experiments.compare_page import compare_page, comparison_table
from judging.analysis.experiments.comparison import Comparison, compare
from judging.analysis.experiments.figures import configuration_names
from judging.analysis.experiments.pairs import Cell, Side
from judging.analysis.experiments.sources import Source
from judging.analysis.reports import FORMATS
from judging.models import StudyItem
from judging.studies.access import record_unblindings
from runs.interface.fragments import AppRequest
from runs.models import AgentConfiguration, Experiment
from runs.operations.error_views import BadQueryError

MOST_OFFERED = 300
KEPT = ("a", "b", "a_agent", "b_agent", "pair")
"""What stays in the address when another source is chosen."""


@require_safe
def experiment_compare(request: AppRequest) -> HttpResponse:
    """How far two sides lie apart, and which of their runs flip."""
    demand_permissions(request)
    offered = list(Experiment.objects.visible_to(request.user)[:MOST_OFFERED])
    first = request.GET.get("a") or (str(offered[0].pk) if offered else "")
    context: dict[str, object] = {
        "offered": offered,
        "formats": FORMATS,
        "first_chosen": first,
        "second_chosen": next((each.pk for each in offered if str(each.pk) != first), None),
    }
    sides = _sides(request)
    if sides is not None:
        choices = choices_of(sides[0].scope)
        source = source_of(request, choices)
        page = compare_page(_compared(request, sides, source), _cell(request), request.GET)
        _record(request, page.listed, source)
        kept = [(key, value) for key, value in request.GET.items() if key in KEPT]
        context |= {"page": page, "choices": choices, "source": source, "kept": kept}
    return render(request, "judging/analysis/experiments/experiment_compare.html", context)


@require_safe
def experiment_compare_file(request: AppRequest, ending: str) -> HttpResponse:
    """The same as a file: the counts, the figures and what flips."""
    demand_permissions(request)
    sides = _sides(request)
    if sides is None or ending not in FORMATS:
        raise Http404
    source = source_of(request, choices_of(sides[0].scope))
    compared = _compared(request, sides, source)
    _record(request, [run.run for pair in compared.pairing.flipped for run in pair], source)
    return as_file(comparison_table(compared), ending)


def _compared(request: AppRequest, sides: tuple[Side, Side], source: Source) -> Comparison:
    return compare(*sides, source, pairing_of(request))


def _sides(request: AppRequest) -> tuple[Side, Side] | None:
    """The two sides of the address; None where it does not name two."""
    if not (request.GET.get("a") and request.GET.get("b")):
        return None
    return _side(request, "a"), _side(request, "b")


def _side(request: AppRequest, letter: str) -> Side:
    scope = scope_of(request, _number(request.GET[letter]))
    wanted = request.GET.get(f"{letter}_agent")
    if not wanted:
        return Side(scope=scope)
    runs = scope.told
    agents = AgentConfiguration.objects.filter(pk__in=runs.order_by().values("agent"))
    agent = get_object_or_404(agents, pk=_number(wanted))
    return Side(scope=scope, agent=agent, agent_name=configuration_names(agents)[agent.pk])


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise Http404
    return int(text)


def _cell(request: AppRequest) -> Cell | None:
    try:
        return Cell(request.GET["cell"]) if request.GET.get("cell") else None
    except ValueError as error:
        raise BadQueryError(error, "cell") from error


def _record(request: AppRequest, run_ids: Sequence[UUID], source: Source) -> None:
    """Whoever reads verdicts of runs is noted, as in the lists of an audit."""
    if source.tells_judgements:
        items = StudyItem.objects.filter(run__in=run_ids)
        record_unblindings(user=request.user, items=items, reason="runs of compared experiments")
