"""The runs behind the numbers of an audit, and what is known of each."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import UUID

from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from judging.analysis.audits.explanations import decider, decider_words
from judging.analysis.audits.judgements import EvaluatorLine, RunJudgements, curves_of, opened_items
from judging.analysis.audits.matrices import NO_REASON, NOT_EVALUATED, PASSED_BY_VERDICT
from judging.analysis.audits.population import (
    LEFT_OUT,
    Group,
    Neighbours,
    Shown,
    items_in,
    items_in_cells,
    neighbours,
    read_cells,
)
from judging.analysis.audits.query import BETWEEN, read_selection, selected_items
from judging.analysis.audits.tables import CellTable, rows_shown
from judging.analysis.audits.verdict_sources import sources_of
from judging.analysis.audits.verdicts import cells_report
from judging.analysis.audits.views import audit_page
from judging.analysis.causes.pages import TAG, CauseForm, walked_pane
from judging.analysis.causes.tags import read_tag, tag_words, with_tags
from judging.analysis.counting import tally
from judging.analysis.failure_modes.pages import failure_beside
from judging.analysis.miniwob.causes import walked_failure
from judging.analysis.reports.registry import as_file, check_address
from judging.models import EvaluatorVersion, Study
from judging.studies.access import AUDIT, record_unblindings, studies_hidden_from
from runs.interface.requests import AppRequest, wants_partial
from runs.launching.reruns.pages import RerunResult, results_of
from runs.models import Run, User
from runs.models.parsing import read_number
from runs.viewer.comparison import Choice, lineage_of

MOST_LEFT_OUT = 1000
NUMBERS = ("study", "audit", "sample")
WORDS = ("cell", "triangle")
Walk = Mapping[str, str]
"""`study`, and either `audit` (the evaluator) and `cell`, or `triangle`: its own query. Beside
`triangle` the first two only say which evaluator is looked at. Or `sample`, of failures."""


@audit_page
def audit_cells(request: AppRequest, study: Study, evaluator_id: int, cells: str) -> HttpResponse:
    """The runs of one cell, or of several; those of one split are among all verdicts."""
    evaluator, shown = _cells(evaluator_id, cells)
    if split := request.GET.get("split"):
        address = reverse("judging:audit_triangle", args=[study.pk])
        query = {"cell": f"{evaluator_id}{BETWEEN}{cells}", "split": split}
        return redirect(f"{address}?{urlencode(query)}")
    walk = {"study": str(study.pk), "audit": str(evaluator_id), "cell": cells}
    tag = read_tag(request.GET.get("tag", ""))
    items = with_tags(items_in_cells(study, evaluator, shown), evaluator, tag)
    if (rule := request.GET.get("rule")) is not None:
        items = items.filter(pk__among=_decided_by(items, rule))
    table = CellTable(items, walk=walk, chooses=request.user.has_perm(TAG))
    listed = rows_shown(request, table)
    record_unblindings(user=request.user, items=listed, reason="runs of an audit")
    context = {
        "study": study,
        "evaluator": evaluator,
        "cells": shown,
        "heading": _HEADINGS.get(shown[0], "") if len(shown) == 1 else "",
        "address": cells,
        "table": table,
        "listed": listed,
        "tag": tag,
        "tag_words": tag_words(tag),
        "rule": None if rule is None else decider_words(rule) or _("not stored"),
        "batch": request.GET.get("batch", ""),
        "form": CauseForm(),
    }
    if not listed and not tag and rule is None:
        context |= _why_empty(study, evaluator, shown)
    return render(request, "judging/analysis/audits/audit_cells.html", context)


_HEADINGS = {Shown.FN: gettext_lazy("missed successes"), Shown.FP: gettext_lazy("passed failures")}
"""What runs of the one cell are, where they are errors."""
_NONE_OF = {
    Shown.FN: (
        Shown.TP,
        ngettext_lazy(
            "misses %(n)s of %(total)s success", "misses %(n)s of %(total)s successes", "counter"
        ),
    ),
    Shown.FP: (
        Shown.TN,
        ngettext_lazy(
            "passes %(n)s of %(total)s failure", "passes %(n)s of %(total)s failures", "counter"
        ),
    ),
}
"""What an empty cell of errors says, by how many runs of the cell beside it."""


def _why_empty(
    study: Study, evaluator: EvaluatorVersion, cells: Sequence[Shown]
) -> dict[str, object]:
    """Why no run is in the cells: a title, why there is no verdict, and whether that is so on all
    runs; in two queries.
    """
    items = items_in_cells(study, evaluator, list(Shown))
    counts = tally(items, "cell")
    if counts.total() and counts.total() == counts[Shown.NONE]:
        [(reason, _n)] = tally(items, "said_reason").most_common(1)
        why = NOT_EVALUATED if reason is None else reason or NO_REASON
        return {"title": _("No verdict on any run"), "why": why, "is_silent": True}
    beside, words = _NONE_OF.get(cells[0], (None, "")) if len(cells) == 1 else (None, "")
    if beside is None or not counts[beside]:
        return {}
    n = counts[beside]
    return {"title": capfirst(words % {"counter": n, "n": 0, "total": intcomma(n)})}


def _decided_by(items: QuerySet[Any], rule: str) -> list[int]:
    """Those of the items whose verdict that rule or check decided."""
    said = items.order_by().values_list("pk", "said_details").iterator()
    return [pk for pk, details in said if decider(details) == rule]


@audit_page
def audit_cells_file(
    request: AppRequest, study: Study, evaluator_id: int, cells: str, ending: str
) -> HttpResponse:
    evaluator, shown = _cells(evaluator_id, cells)
    check_address(ending)
    items = items_in_cells(study, evaluator, shown)
    record_unblindings(user=request.user, items=items, reason="runs of an audit")
    return as_file(cells_report(study, evaluator, shown), ending)


def _cells(evaluator_id: int, cells: str) -> tuple[EvaluatorVersion, Sequence[Shown]]:
    """The evaluator and the cells of an address. Raises Http404 where there are none such."""
    try:
        return get_object_or_404(EvaluatorVersion, pk=evaluator_id), read_cells(cells)
    except ValueError as error:
        raise Http404 from error


@audit_page
def audit_left_out(request: AppRequest, study: Study, group: str) -> HttpResponse:
    """Runs of the study that no figure counts, and why."""
    if group not in LEFT_OUT:
        raise Http404
    found = (
        items_in(study, Group(group)).select_related("run__task", "verdict").order_by("position")
    )
    items = found[:MOST_LEFT_OUT]
    if group == Group.NOT_EXECUTABLE:  # which is what people said of these runs
        record_unblindings(user=request.user, items=items, reason="runs left out of an audit")
    context = {"study": study, "group": group, "name": LEFT_OUT[Group(group)], "items": items}
    return render(request, "judging/analysis/audits/audit_left_out.html", context)


@require_safe
@vary_on_headers("HX-Request", "HX-Current-URL")
def run_judgements(request: AppRequest, run_id: UUID) -> HttpResponse:
    """The pane beside a run's timeline: only what the viewer may see."""
    run = get_object_or_404(Run.objects.visible_to(request.user, [run_id]).select_related("task"))
    walk = _read_walk(request.GET, request.htmx.current_url or "")
    study_id = int(walk["study"]) if "study" in walk else None
    judgements = RunJudgements(run, request.user, study_id)
    opened = opened_items(judgements)
    curves = curves_of(judgements)
    record_unblindings(user=request.user, items=opened, reason="judgements of a run")
    context = {
        "judgements": judgements,
        "curves": curves,
        "drawn_curves": [curve.drawn() for curve in curves],
        "lineage": [] if judgements.is_blind else _lineage(judgements, request.user),
        "opened": walk.get("audit", ""),
        "evaluators": _silent_last(judgements.evaluators, walk.get("audit", "")),
        "walk": urlencode(walk),
        "neighbours": _walked_neighbours(request.user, walk, run_id),
        "way_back": _way_back(walk),
        "is_triangle": "triangle" in walk,
        "cell_address": walk.get("cell", ""),
        "pane": walked_pane(request.user, walk, run_id) if judgements.reads_audits else None,
        "failure": failure_beside(judgements, request.user),
        "why": None
        if judgements.is_blind
        else walked_failure(request.user, walk.get("sample", ""), run_id),
        # Beside the timeline a step is on the same page; alone, the pane links to the run's.
        "steps_at": "" if wants_partial(request) else reverse("runs:run_detail", args=[run_id]),
    }
    return render(request, "judging/analysis/audits/run_judgements.html", context)


def _silent_last(
    lines: Sequence[EvaluatorLine], opened: str
) -> list[tuple[bool, list[EvaluatorLine]]]:
    """The opened one, those with a verdict, and those without (True), folded; no empty group."""
    groups: dict[bool, list[EvaluatorLine]] = {False: [], True: []}
    for line in lines:
        said = line.evaluation
        if str(said.evaluator_id) == opened:
            groups[False].insert(0, line)
        else:
            groups[said.verdict not in PASSED_BY_VERDICT].append(line)
    return [(silent, group) for silent, group in groups.items() if group]


def _lineage(
    judgements: RunJudgements, user: User
) -> list[tuple[Choice, RerunResult | None, RerunResult | None]]:
    """Each kin, how this run ended beside it where this one repeats it, and the other way round."""
    run, kin = judgements.run, lineage_of(judgements.run, user)
    runs = [run, *(each.run for each in kin)]
    results = results_of(runs, user) if kin and judgements.reads_audits else {}

    def between(rerun: Run, original: Run) -> RerunResult | None:
        found = results.get(rerun.pk)
        return found if found and found.result and found.original == original.pk else None

    return [(each, between(run, each.run), between(each.run, run)) for each in kin]


def _read_walk(query: Mapping[str, str], current_url: str) -> Walk:
    """Where the viewer comes from, as far as told: by this address or that of the page around."""
    page = parse_qs(urlsplit(current_url).query, keep_blank_values=True)
    given = {key: query.get(key, page.get(key, [""])[0]) for key in (*NUMBERS, *WORDS)}
    walk = {
        key: value
        for key, value in given.items()
        if value and (key in WORDS or read_number(value) is not None)
    }
    if "triangle" in query or "triangle" in page:
        # Empty where nothing is filtered, which is a way through all runs.
        walk["triangle"] = str(given["triangle"])
    return walk


def _walked_neighbours(user: User, walk: Walk, run_id: UUID) -> Neighbours | None:
    """The runs before and after on the way; None where there is no way, or not for this person."""
    study = Study.objects.filter(pk=walk["study"]).first() if "study" in walk else None
    if study is None or not user.has_perm(AUDIT):
        return None
    if studies_hidden_from(user).filter(pk=study.pk).exists():
        return None
    try:
        if "triangle" in walk:
            sources = sources_of(study)
            selection = read_selection(QueryDict(walk["triangle"]), sources)
            selected = selected_items(selection, sources)
            return neighbours(selected, run_id, selection.path)
        if not walk.keys() >= {"audit", "cell"}:
            return None
        evaluator = EvaluatorVersion.objects.get(pk=walk["audit"])
        return neighbours(items_in_cells(study, evaluator, read_cells(walk["cell"])), run_id)
    except (ValueError, EvaluatorVersion.DoesNotExist):
        return None


def _way_back(walk: Walk) -> str:
    if "study" not in walk:
        return ""
    if "triangle" in walk:
        address = reverse("judging:audit_triangle", args=[walk["study"]])
        return f"{address}?{walk['triangle']}" if walk["triangle"] else address
    if "audit" in walk and "cell" in walk:
        try:
            read_cells(walk["cell"])
        except ValueError:
            return ""
        return reverse("judging:audit_cells", args=[walk["study"], walk["audit"], walk["cell"]])
    return ""
