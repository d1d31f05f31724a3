"""Evaluators, detectors and judges of progress against annotators."""

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.people.against import Detector, DetectorCell, causes_meant
from judging.analysis.audits.people.reports import ceiling_picture
from judging.analysis.audits.population import listed_items
from judging.analysis.audits.reports import AUDIT
from judging.analysis.audits.verdict_sources import short_names
from judging.analysis.audits.views import as_part, audit_page, facts_of
from judging.analysis.experiments.facts import runs_counted
from judging.analysis.progress.people import TOLERANCES, PeopleFacts, read_people_query
from judging.analysis.progress.people_reports import (
    JUDGE_DOLLARS,
    PEOPLE,
    PEOPLE_DOLLARS,
    SAMPLES,
    people_picture,
)
from judging.analysis.reports.html import html_tables
from judging.analysis.reports.registry import as_file, check_address
from judging.models import Study, StudyItem
from judging.studies.access import record_unblindings
from runs.interface.requests import AppRequest
from runs.operations.error_views import bad_queries

READ = "progress of an audit"


@audit_page
def audit_people(request: AppRequest, study: Study) -> HttpResponse:
    """Evaluators against each annotator, beside the annotators against each other."""
    facts = facts_of(request, study, "people")
    context = {
        "study": study,
        "facts": facts,
        "annotators": facts.ceiling.annotators,
        "picture": ceiling_picture(facts),
        "tables": html_tables(AUDIT.make("people", facts)),
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
        "tables": html_tables(AUDIT.make("detectors", facts)) if facts.detectors else [],
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
        "figures": html_tables(PEOPLE.make("figures", facts)),
        "picture": people_picture(facts) if facts.pairs else None,
        "farthest": farthest,
        "milestones": html_tables(PEOPLE.make("milestones", facts)),
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
