"""How far the runs of an experiment got."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from judging.analysis.experiments.access import for_readers, progress_facts_of
from judging.analysis.experiments.facts import Facts
from judging.analysis.experiments.freshness import freshness
from judging.analysis.experiments.pictures import ShownPicture
from judging.analysis.experiments.population import RunResult, Scope
from judging.analysis.progress.figures import progressed
from judging.analysis.progress.measured import MISSING
from judging.analysis.progress.pictures import beside_success, by_step
from judging.analysis.progress.reports import PROGRESS
from judging.analysis.progress.selection import KNOWN
from judging.analysis.reports.html import html_tables
from judging.analysis.reports.report import Cell
from judging.analysis.reports.views import as_file, check_address, record_reading
from judging.analysis.reports.writing import FORMATS
from runs.interface.fragments import AppRequest


def _beside(facts: Facts) -> list[ShownPicture]:
    found = [(each.name, progressed(facts.rows_of(each))) for each in facts.configurations]
    return [ShownPicture(None, beside_success(found))] if any(each.n for _n, each in found) else []


def _curves(facts: Facts) -> list[ShownPicture]:
    return [
        ShownPicture(each, by_step(each.name, facts.rows_of(each)))
        for each in facts.configurations
        if any(row.is_known for row in facts.rows_of(each))
    ]


class Section(NamedTuple):
    """A section of the page: what it asks, and what draws its pictures."""

    title: Promise
    draw: Callable[[Facts], Sequence[ShownPicture]] | None = None


SECTIONS = {
    "configurations": Section(_("How much progress does success hide?"), _beside),
    "task-sets": Section(_("By task set")),
    "curve": Section(_("Where do runs stop getting further?"), _curves),
    "stops": Section(_("Which milestones do runs not get past?")),
    "limits": Section(_("Would fewer steps do?")),
    "difficulty": Section(_("Easy and hard tasks")),
    "scores": Section(_("One score that counts how far failures got")),
}
"""By the name of their report, in the page's order."""


@require_safe
@for_readers
def experiment_progress_rates(request: AppRequest, scope: Scope) -> HttpResponse:
    """Progress beside success, by step, under step limits, by difficulty, and in one score."""
    facts = progress_facts_of(request, scope)
    found = progressed(facts.rows)
    context = {
        "experiment": scope.experiment,
        "freshness": freshness(scope.experiment, request.user),
        "facts": facts,
        "source": facts.source,
        "found": found,
        "missing": [
            (words, Cell(n, facts.progress_url(why)))
            for why, words in MISSING.items()
            if (n := found.missing.get(why, 0))
        ],
        "undecided_url": facts.progress_url(KNOWN, standing=RunResult.NONE),
        "sections": _sections(facts) if facts.progress_choices else [],
        "tables": PROGRESS.names,
        "formats": FORMATS,
    }
    return render(request, "judging/analysis/progress/experiment_progress.html", context)


def _sections(facts: Facts) -> list[dict[str, Any]]:
    """Those that have something to show."""
    sections = []
    for name, section in SECTIONS.items():
        report = PROGRESS.make(name, facts)
        if report.rows and report.page_rows != []:
            sections.append(
                {
                    "name": name,
                    "title": section.title,
                    "report": report,
                    "tables": html_tables(report),
                    "pictures": section.draw(facts) if section.draw else [],
                }
            )
    return sections


@require_safe
@for_readers
def experiment_progress_table(
    request: AppRequest, scope: Scope, name: str, ending: str
) -> HttpResponse:
    """One of the page's reports as a file."""
    check_address(ending, name, PROGRESS)
    facts = progress_facts_of(request, scope)
    if PROGRESS.entries[name].lists_runs:
        record_reading(request, [row.run for row in facts.rows], "progress of an experiment")
    return as_file(PROGRESS.make(name, facts), ending)
