"""People and evaluators beside each other: all verdicts run by run, filtered and sorted, and
evaluators, detectors and judges of progress against annotators.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.people.against import Detector, DetectorCell, causes_meant
from judging.analysis.audits.people.reports import ceiling_picture
from judging.analysis.audits.population import (
    GROUP_NAMES,
    GROUPINGS,
    Shown,
    counted_items,
    listed_items,
    unknown_split,
)
from judging.analysis.audits.query import ANNOTATORS, ANY, Selection, read_selection, selected_items
from judging.analysis.audits.reports import AUDIT, check_known_split
from judging.analysis.audits.tables import TriangleTable, rows_shown
from judging.analysis.audits.verdict_sources import VerdictSources, short_names
from judging.analysis.audits.views import as_part, audit_page, facts_of
from judging.analysis.counting import tally
from judging.analysis.experiments.facts import runs_counted
from judging.analysis.progress.people import TOLERANCES, PeopleFacts, read_people_query
from judging.analysis.progress.people_reports import (
    JUDGE_DOLLARS,
    PEOPLE,
    PEOPLE_DOLLARS,
    SAMPLES,
    people_picture,
)
from judging.analysis.reports.registry import as_file, check_address
from judging.models import Study, StudyItem
from judging.studies.access import record_unblindings
from runs.interface.requests import AppRequest
from runs.operations.error_views import bad_queries

SPREADS = {ANY: gettext_lazy("any verdict differs"), ANNOTATORS: gettext_lazy("annotators differ")}
_OFFERED = (
    ("fn-fp", gettext_lazy("wrong: FN or FP")),
    *((cell, cell.upper()) for cell in ("fn", "fp", "tp", "tn")),
    ("none", gettext_lazy("no verdict")),
)
MOST_GROUPS = 300
READ = "progress of an audit"


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


@audit_page
def audit_people(request: AppRequest, study: Study) -> HttpResponse:
    """Evaluators against each annotator, beside the annotators against each other."""
    facts = facts_of(request, study, "people")
    context = {
        "study": study,
        "facts": facts,
        "annotators": facts.ceiling.annotators,
        "picture": ceiling_picture(facts),
        "tables": AUDIT.tables("people", facts),
    }
    return render(request, "judging/analysis/audits/audit_people.html", context)


@audit_page
def audit_detectors(request: AppRequest, study: Study) -> HttpResponse:
    """Precision and recall of every detector, and the runs behind one number."""
    facts = AuditFacts(study)
    detector, cell = _chosen(request, facts)
    items = listed_items(detector.items.get(cell, ())) if detector and cell else []
    record_unblindings(user=request.user, items=items, reason="detectors of an audit")
    context = {
        "study": study,
        "tables": AUDIT.tables("detectors", facts) if facts.detectors else [],
        "causes": causes_meant(study),
        "cell": cell.label if cell else None,
        "items": items,
    }
    return as_part(request, "audits/_audit_detectors", context, _("Detectors"), "detectors")


def _chosen(request: AppRequest, facts: AuditFacts) -> tuple[Detector | None, DetectorCell | None]:
    if not request.GET.get("cell"):
        return None, None
    named = request.GET.get("kind", ""), request.GET.get("detector", "")
    detector = facts.detectors.get(named)
    with bad_queries("cell"):
        cell = DetectorCell(request.GET["cell"])
    if detector is None:
        raise Http404
    return detector, cell


@audit_page
def audit_progress(request: AppRequest, study: Study) -> HttpResponse:
    """How well an evaluator of milestones corresponds with people, and the runs behind it."""
    facts = _facts(request, study)
    items, farthest = facts.items, facts.farthest
    shown = StudyItem.objects.filter(pk__in=[pair.ticked.item for pair in farthest])
    record_unblindings(user=request.user, items=[*items, *shown], reason=READ)
    names = short_names(each.evaluator for each in facts.evaluators)
    context = {
        "study": study,
        "facts": facts,
        "figures": PEOPLE.tables("figures", facts),
        "picture": people_picture(facts) if facts.pairs else None,
        "farthest": farthest,
        "milestones": PEOPLE.tables("milestones", facts),
        "costs": facts.costs,
        "items": items,
        "cell": facts.query.cell.label if facts.query.cell else "",
        "judges": [
            (each.evaluator.pk, runs_counted(names[each.evaluator.pk], len(each.pairs)))
            for each in facts.evaluators
        ],
        "tolerances": [
            (n, ngettext("%(counter)s point", "%(counter)s points", n) % {"counter": n})
            for n in TOLERANCES
        ],
        "published": {
            "judge": JUDGE_DOLLARS / SAMPLES,
            "people": PEOPLE_DOLLARS / SAMPLES,
            "times": PEOPLE_DOLLARS // JUDGE_DOLLARS,
        },
        "tables": PEOPLE.names,
    }
    return as_part(request, "audits/_audit_progress", context, capfirst(_("progress")), "progress")


@audit_page
def audit_progress_table(request: AppRequest, study: Study, name: str, ending: str) -> HttpResponse:
    check_address(ending, name, PEOPLE)
    facts = _facts(request, study)
    if PEOPLE.entries[name].lists_runs:
        items = StudyItem.objects.filter(pk__in=[pair.ticked.item for pair in facts.pairs])
        record_unblindings(user=request.user, items=items, reason=READ)
    return as_file(PEOPLE.make(name, facts), ending)


def _facts(request: AppRequest, study: Study) -> PeopleFacts:
    with bad_queries():
        return PeopleFacts(study, read_people_query(request.GET))
