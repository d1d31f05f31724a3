"""Two experiments, or two configurations, held against each other."""

from collections.abc import Sequence
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from judging.analysis.experiments.access import check_permissions, facts_of, read_value, scope_of
from judging.analysis.experiments.compare_page import compare_page, comparison_report
from judging.analysis.experiments.comparison import compare
from judging.analysis.experiments.figures import configuration_names
from judging.analysis.experiments.pairs import Cell, Side
from judging.analysis.experiments.sources import Source
from judging.analysis.reports.views import as_file, record_reading
from judging.analysis.reports.writing import FORMATS
from runs.interface.fragments import AppRequest
from runs.models import AgentConfiguration, Experiment

MOST_OFFERED = 300
KEPT = ("a", "b", "a_agent", "b_agent", "pair")
"""What stays in the address when another source is chosen."""


@require_safe
def experiment_compare(request: AppRequest) -> HttpResponse:
    """How far two sides lie apart, and which of their runs flip."""
    check_permissions(request)
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
        facts = facts_of(request, sides[0].scope)
        page = compare_page(
            compare(*sides, facts.source, facts.query.by),
            read_value(request, "cell", Cell),
            request.GET,
        )
        _record(request, page.listed, facts.source)
        kept = [(key, value) for key, value in request.GET.items() if key in KEPT]
        context |= {"page": page, "choices": facts.choices, "source": facts.source, "kept": kept}
    return render(request, "judging/analysis/experiments/experiment_compare.html", context)


@require_safe
def experiment_compare_file(request: AppRequest, ending: str) -> HttpResponse:
    """The same as a file: the counts, the figures and what flips."""
    check_permissions(request)
    sides = _sides(request)
    if sides is None or ending not in FORMATS:
        raise Http404
    facts = facts_of(request, sides[0].scope)
    compared = compare(*sides, facts.source, facts.query.by)
    flipped = [run.run for pair in compared.pairing.flipped for run in pair]
    _record(request, flipped, facts.source)
    return as_file(comparison_report(compared), ending)


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
    runs = scope.visible
    agents = AgentConfiguration.objects.filter(pk__in=runs.order_by().values("agent"))
    agent = get_object_or_404(agents, pk=_number(wanted))
    return Side(scope=scope, agent=agent, agent_name=configuration_names(agents)[agent.pk])


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise Http404
    return int(text)


def _record(request: AppRequest, run_ids: Sequence[UUID], source: Source) -> None:
    """Whoever reads verdicts of runs is noted, as in the lists of an audit."""
    if source.tells_judgements:
        record_reading(request, run_ids, "runs of an experiment")
