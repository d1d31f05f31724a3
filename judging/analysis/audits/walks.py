"""The way through a list of runs that somebody came by, as the address of a run holds it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from django.http import QueryDict
from django.urls import reverse

from judging.analysis.audits.cells import Neighbours, items_in_cells, neighbours, read_cells
from judging.analysis.audits.judgements import may_walk
from judging.analysis.audits.selection import neighbours_in, read_selection, selected_items
from judging.analysis.audits.verdict_sources import sources_of
from judging.models import EvaluatorVersion, Study
from runs.models import User
from runs.models.parsing import read_number

NUMBERS = ("study", "audit", "sample")
WORDS = ("cell", "triangle")
Walk = Mapping[str, str]
"""`study`, and either `audit` (the evaluator) and `cell`, or `triangle`: its own query. Beside
`triangle` the first two only say which evaluator is looked at. Or `sample`, of failures."""


def read_walk(query: Mapping[str, str], current_url: str) -> Walk:
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


def walked_neighbours(user: User, walk: Walk, run_id: UUID) -> Neighbours | None:
    """The runs before and after on the way; None where there is no way, or not for this person."""
    if "study" not in walk or not may_walk(user, int(walk["study"])):
        return None
    study = Study.objects.filter(pk=walk["study"]).first()
    if study is None:
        return None
    try:
        if "triangle" in walk:
            return _in_triangle(study, walk["triangle"], run_id)
        return _in_cell(study, walk, run_id)
    except ValueError:
        return None


def _in_cell(study: Study, walk: Walk, run_id: UUID) -> Neighbours | None:
    if not walk.keys() >= {"audit", "cell"}:
        return None
    evaluator = EvaluatorVersion.objects.filter(pk=walk["audit"]).first()
    if evaluator is None:
        return None
    return neighbours(items_in_cells(study, evaluator, read_cells(walk["cell"])), run_id)


def _in_triangle(study: Study, query: str, run_id: UUID) -> Neighbours | None:
    sources = sources_of(study)
    selection = read_selection(QueryDict(query), sources)
    return neighbours_in(selected_items(study, selection, sources), selection.sort, run_id)


def way_back(walk: Walk) -> str:
    """The address of the list; empty where there is none."""
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
