"""Two evaluators compared, with the runs behind every number; two studies side by side."""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from judging.analysis.audits.comparing.evaluator_reports import (
    FLIPS,
    MOST_GROUPS,
    comparison_report,
    flip_cells,
    steps,
)
from judging.analysis.audits.comparing.evaluators import (
    ON_FAILURE,
    ON_SUCCESS,
    Comparison,
    Flip,
    Flips,
)
from judging.analysis.audits.comparing.studies import TwoStudies, two_studies
from judging.analysis.audits.comparing.study_reports import TWO_STUDIES
from judging.analysis.audits.facts import AuditFacts, in_cells
from judging.analysis.audits.figures import BY_KEY
from judging.analysis.audits.population import Shown
from judging.analysis.audits.repairs import worst_and_its_repair
from judging.analysis.audits.reports import AUDIT
from judging.analysis.audits.verdict_sources import VerdictSource, sources_of
from judging.analysis.audits.views import as_part, audit_page
from judging.analysis.audits.what_if.settings import SWITCHED, judged_tasks
from judging.analysis.audits.what_if.views import what_if_context
from judging.analysis.experiments.pairs import By
from judging.analysis.pictures import Flipped, FlipsBar, flips_picture
from judging.analysis.reports.registry import as_file, check_address, html_tables
from judging.analysis.reports.report import Cell
from judging.models import Study, StudyItem
from judging.studies.access import record_unblindings, studies_hidden_from
from runs.interface.requests import AppRequest
from runs.models import User
from runs.models.parsing import QueryError, read_choice, read_number
from runs.operations.error_views import BadQueryError, bad_queries

SIDE_BY_SIDE = ("coverage", "fn_share", "fnr", "fpr", "precision", "recall", "accuracy")
"""Shares of both evaluators that stand beside each other."""
RIGHT = (Shown.TP, Shown.TN)
PAIR = ("first", "second")
KNOWN = {*PAIR, "evaluator", *SWITCHED}


@audit_page
def audit_compare(request: AppRequest, study: Study) -> HttpResponse:
    """What a second evaluator repairs and breaks of a first one, and what switches would."""
    if unknown := [name for name in request.GET if name not in KNOWN]:
        raise BadQueryError(QueryError(unknown[0]))
    facts = AuditFacts(study)
    pair = _pair(request, facts)
    context = {"study": study, "sources": facts.sources}
    if is_switched := any(key in request.GET for key in ("evaluator", *SWITCHED)):
        found = what_if_context(request, study, opens_on=pair[0].key if pair else "")
        context |= found | {"switches": found["page"]}
    context |= {"is_switched": is_switched, "page": _page(facts, *pair) if pair else None}
    return render(request, "judging/analysis/audits/audit_compare.html", context)


@audit_page
def audit_pairs(request: AppRequest, study: Study) -> HttpResponse:
    """All pairs of evaluators, which take longer than two of them."""
    report = AUDIT.make("pairs", AuditFacts(study))
    context = {"study": study, "name": "pairs", "title": _("All pairs"), "plain": True}
    context |= {"report": report, "tables": html_tables(report)}
    return as_part(request, "_report_section", context, part="compare")


@audit_page
def audit_compare_file(request: AppRequest, study: Study, ending: str) -> HttpResponse:
    check_address(ending)
    pair = _pair(request, AuditFacts(study))
    if pair is None:
        raise Http404
    return as_file(comparison_report(study, Comparison(study, *pair)), ending)


def _pair(request: AppRequest, facts: AuditFacts) -> tuple[VerdictSource, VerdictSource] | None:
    """The two evaluators of the address; where it names none, the one that errs most and the one
    that best repairs it.
    """
    named = {key: request.GET[key] for key in PAIR if request.GET.get(key)}
    if not named:
        return worst_and_its_repair(facts)
    others = {source.key: source for source in facts.sources.evaluators}
    chosen = []
    for key, value in named.items():
        if value not in others or len(named) == 1:
            raise BadQueryError(QueryError(key, _("Choose two different evaluators.")))
        chosen.append(others.pop(value))
    return chosen[0], chosen[1]


def _page(facts: AuditFacts, first: VerdictSource, second: VerdictSource) -> dict[str, Any]:
    """What the template shows, in a number of queries that does not depend on the runs."""
    study = facts.study
    comparison = Comparison(study, first, second)
    added = steps(facts, (first, second))
    flips = flip_cells(study, first, second, comparison.flips)
    sides = ((first, second), comparison.matrices)
    figures = [
        (BY_KEY[key], [(by, BY_KEY[key].of(matrix)) for by, matrix in zip(*sides, strict=True)])
        for key in SIDE_BY_SIDE
    ]
    return {
        "comparison": comparison,
        "query": urlencode({"first": first.key, "second": second.key}),
        "sides": sides[0],
        "numbers": [
            (words, error, cell)
            for (words, error, *_cells), cell in zip(FLIPS.values(), flips, strict=True)
        ],
        "tables": [
            (reference, cells, _rows(comparison, cells, of_reference))
            for reference, cells, of_reference in (
                ("success", ON_SUCCESS, comparison.flips.on_success),
                ("failure", ON_FAILURE, comparison.flips.on_failure),
            )
        ],
        "figures": figures,
        "groups": html_tables(comparison_report(study, comparison)),
        "additions": html_tables(added) if added.rows else [],
        "judged_tasks": [
            (side.shown, tasks)
            for side in (first, second)
            if side.evaluator and (tasks := judged_tasks(side.evaluator))
        ],
        "picture": _picture(comparison),
    }


def _rows(
    comparison: Comparison, cells: tuple[Shown, ...], flips: Counter[Flip]
) -> list[tuple[Shown, list[tuple[Cell, str]], int]]:
    """A cell under the first evaluator, its runs by cell under the second with what that means
    (same, better, worse, or empty), and all of its runs.
    """
    return [
        (
            before,
            [(_flip(comparison, before, after, flips), _meaning(before, after)) for after in cells],
            sum(flips[before, after] for after in cells),
        )
        for before in cells
    ]


def _flip(comparison: Comparison, before: Shown, after: Shown, flips: Counter[Flip]) -> Cell:
    n = flips[before, after]
    if before is after is Shown.NONE:
        # The fifth cell holds runs of both reference verdicts, so it alone cannot link.
        return Cell(n)
    sides = [(comparison.first, [before]), (comparison.second, [after])]
    return in_cells(comparison.study, n, sides)


def _meaning(before: Shown, after: Shown) -> str:
    if before is after:
        return "same"
    if Shown.NONE in (before, after):
        return ""
    return "better" if after in RIGHT else "worse"


def _picture(comparison: Comparison) -> SafeString:
    sites = comparison.groups.get("site", ())[:MOST_GROUPS]
    bars = [_bar(comparison, _("all runs"), comparison.flips, {})]
    bars += [
        _bar(comparison, site.name or _("no site"), site.flips, {"site": site.name})
        for site in sites
    ]
    names = {"first": comparison.first.shown, "second": comparison.second.shown}
    label = _("%(second)s compared with %(first)s") % names
    return flips_picture(bars, label=label)


def _bar(comparison: Comparison, name: str, flips: Flips, groups: Mapping[str, str]) -> FlipsBar:
    cells = flip_cells(comparison.study, comparison.first, comparison.second, flips, groups)
    parts = [
        Flipped(str(words), error, after in RIGHT, cell.value, cell.url)
        for (words, error, _before, after), cell in zip(FLIPS.values(), cells, strict=True)
    ]
    return FlipsBar(name, sorted(parts, key=lambda part: not part.is_repaired))


MOST_OFFERED = 200


def other_studies(study: Study, user: User) -> QuerySet[Study]:
    """Studies that may stand beside it, newest first: those that hide nothing from the person."""
    # Asked of each study that is read, not of every one that there is.
    hidden = Exists(studies_hidden_from(user).filter(pk=OuterRef("pk")))
    return Study.objects.exclude(pk=study.pk).exclude(hidden).order_by("-created_at", "-pk")


@audit_page
def audit_beside(request: AppRequest, study: Study) -> HttpResponse:
    """The study beside another one, or the choice of it."""
    others = other_studies(study, request.user)
    context = {"study": study, "others": [(each.pk, each.name) for each in others[:MOST_OFFERED]]}
    if request.GET.get("with"):
        facts = facts_of(request, study)
        made = {name: TWO_STUDIES.make(name, facts) for name in TWO_STUDIES.entries}
        record_reading_of_tasks(request.user, facts)
        context |= {
            "facts": facts,
            "other": facts.sides[1].study,
            "sources": [
                [(each.key, each.shown) for each in sources_of(side.study).evaluators]
                or [("", _("none"))]
                for side in facts.sides
            ],
            "ways": ((By.TRIAL, _("task and trial")), (By.SEED, _("task and seed"))),
            "sections": [
                (name, TWO_STUDIES.entries[name].words, report, html_tables(report))
                for name, report in made.items()
            ],
            "query": request.GET.urlencode(),
        }
    return render(request, "judging/analysis/audits/audit_beside.html", context)


@audit_page
def audit_beside_file(request: AppRequest, study: Study, name: str, ending: str) -> HttpResponse:
    check_address(ending, name, TWO_STUDIES)
    facts = facts_of(request, study)
    if TWO_STUDIES.entries[name].lists_runs:
        record_reading_of_tasks(request.user, facts)
    return as_file(TWO_STUDIES.make(name, facts), ending)


def facts_of(request: AppRequest, study: Study) -> TwoStudies:
    """The two studies of the address. Raises Http404 where the person may not read the other."""
    number = read_number(request.GET.get("with", ""))
    other = other_studies(study, request.user).filter(pk=number).first() if number else None
    if other is None:
        raise Http404
    with bad_queries():
        keys = request.GET.get("first", ""), request.GET.get("second", "")
        return two_studies(study, other, keys, read_choice(request.GET, "by", By))


def record_reading_of_tasks(user: User, facts: TwoStudies) -> None:
    studies = [side.study.pk for side in facts.sides]
    runs = {run.run for runs in facts.runs for run in runs}
    items = StudyItem.objects.filter(study__in=studies, run__among=runs)
    record_unblindings(user=user, items=items, reason="two studies side by side")
