"""All verdicts: people, reference verdict and evaluators run by run, filtered and sorted."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.population import (
    GROUP_NAMES,
    GROUPINGS,
    Shown,
    counted_items,
    unknown_split,
)
from judging.analysis.audits.query import ANY, PEOPLE, Selection, read_selection, selected_items
from judging.analysis.audits.reports import AUDIT, check_known_split
from judging.analysis.audits.tables import TriangleTable, rows_shown
from judging.analysis.audits.verdict_sources import VerdictSources
from judging.analysis.audits.views import audit_page
from judging.analysis.counting import tally
from judging.analysis.reports.registry import as_file, check_address
from judging.models import Study
from judging.studies.access import record_unblindings
from runs.interface.requests import AppRequest
from runs.operations.error_views import bad_queries

SPREADS = {ANY: gettext_lazy("any verdict differs"), PEOPLE: gettext_lazy("annotators differ")}
_OFFERED = (
    ("fn-fp", gettext_lazy("wrong: FN or FP")),
    *((cell, cell.upper()) for cell in ("fn", "fp", "tp", "tn")),
    ("none", gettext_lazy("no verdict")),
)
MOST_GROUPS = 300


@audit_page
def audit_triangle(request: AppRequest, study: Study) -> HttpResponse:
    """One row a run, with what everybody said of it."""
    sources = AuditFacts(study).sources
    selection = _selection(request, sources)
    items = selected_items(selection, sources)
    filters = _filters(sources, selection)
    table = TriangleTable(items, sources=sources, selection=selection)
    shown = rows_shown(request, table)
    record_unblindings(user=request.user, items=shown, reason="all verdicts of an audit")
    context = {
        "study": study,
        "unknown_split": unknown_split(study, selection.groups.get("split", "")),
        "table": table,
        "selection": selection,
        "filters": filters,
    }
    return render(request, "judging/analysis/audits/audit_triangle.html", context)


@audit_page
def audit_triangle_file(request: AppRequest, study: Study, ending: str) -> HttpResponse:
    """The verdicts on the runs of the selection as a file."""
    check_address(ending)
    facts = AuditFacts(study)
    selection = _selection(request, facts.sources)
    with bad_queries():
        check_known_split(study, selection.groups.get("split", ""))
    items = list(selected_items(selection, facts.sources))
    record_unblindings(user=request.user, items=items, reason="all verdicts of an audit")
    return as_file(AUDIT.make("triangle", facts, selection, items), ending)


def _selection(request: AppRequest, sources: VerdictSources) -> Selection:
    with bad_queries():
        return read_selection(request.GET, sources)


def _filters(sources: VerdictSources, selection: Selection) -> dict[str, Any]:
    """The filters that hold, and those that there could be, in one query."""
    shown = selection.evaluators or sources.speaking
    return {
        "folded": [] if selection.evaluators else sources.folded,
        "with_folded": f"?{replace(selection, evaluators=sources.evaluators).query}",
        "chips": list(_chips(selection)),
        # Cells that hold are sent along when one more is chosen.
        "kept": [each.address for each in selection.cells],
        "cells": [
            ("", _("any")),
            *(
                (
                    each.shown,
                    [(f"{each.key}_{cells}", f"{it} · {each.shown}") for cells, it in _OFFERED],
                )
                for each in sources.columns(sources.evaluators)
            ),
        ],
        "spreads": [("", _("any")), *SPREADS.items()],
        "groups": list(_groups(sources.study, selection)),
        "evaluators": [(each.key, each.shown, each in shown) for each in sources.evaluators],
    }


def _chips(selection: Selection) -> Iterable[tuple[str, str]]:
    """Every filter that holds: in words, and the query without it."""
    for each in selection.cells:
        yield f"{each.source.shown}: {_cell_words(each.cells)}", selection.without(each).query
    if selection.differ:
        first, second = selection.differ
        words = _("%(first)s and %(second)s differ") % {
            "first": first.shown,
            "second": second.shown,
        }
        yield words, selection.without("differ").query
    if selection.spread:
        yield str(SPREADS[selection.spread]), selection.without("differ").query
    for name, value in selection.groups.items():
        yield f"{GROUP_NAMES[name]}: {value}", selection.without(name).query


def _cell_words(cells: Sequence[Shown]) -> str:
    return ", ".join(_("no verdict") if cell is Shown.NONE else cell.upper() for cell in cells)


def _groups(
    study: Study, selection: Selection
) -> Iterable[tuple[str, str | Promise, str, list[tuple[str, str]]]]:
    """The values that occur, of each grouping with more than one; the most frequent first."""
    items = counted_items(study).annotate(
        **{f"of_{name}": expression for name, expression in GROUPINGS.items()}
    )
    counts = tally(items, *(f"of_{name}" for name in GROUPINGS))
    for place, (name, words) in enumerate(GROUP_NAMES.items()):
        of_group: Counter[str] = Counter()
        for values, n in counts.items():
            of_group[values[place]] += n
        chosen = selection.groups.get(name, "")
        choices = [
            (value, f"{value[:80]} ({n})")
            for value, n in of_group.most_common(MOST_GROUPS)
            if value
        ]
        if len(choices) > 1 or chosen:
            yield name, words, chosen, [("", _("any")), *choices]
