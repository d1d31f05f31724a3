"""Two studies side by side: the page, and its reports as files."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from judging.analysis.audits.comparing.studies import TwoStudies, two_studies
from judging.analysis.audits.comparing.study_reports import TWO_STUDIES
from judging.analysis.audits.verdict_sources import sources_of
from judging.analysis.experiments.pairs import By
from judging.analysis.reports.html import html_tables
from judging.analysis.reports.views import as_file, check_address
from judging.analysis.reports.writing import FORMATS
from judging.models import Study, StudyItem
from judging.studies.access import for_auditors, record_unblindings, studies_hidden_from
from runs.interface.fragments import AppRequest
from runs.models import User
from runs.models.parsing import read_choice, read_number
from runs.operations.error_views import bad_queries

MOST_OFFERED = 200


def other_studies(study: Study, user: User) -> QuerySet[Study]:
    """Studies that may stand beside it, newest first: those that hide nothing from the person."""
    # Asked of each study that is read, not of every one that there is.
    hidden = Exists(studies_hidden_from(user).filter(pk=OuterRef("pk")))
    return Study.objects.exclude(pk=study.pk).exclude(hidden).order_by("-created_at", "-pk")


@require_safe
@for_auditors
def audit_beside(request: AppRequest, study: Study) -> HttpResponse:
    """The study beside another one, or the choice of it."""
    others = other_studies(study, request.user)
    context = {"study": study, "others": others[:MOST_OFFERED], "formats": FORMATS, "ways": By}
    if request.GET.get("with"):
        facts = facts_of(request, study)
        made = {name: TWO_STUDIES.make(name, facts) for name in TWO_STUDIES.entries}
        record_reading_of_tasks(request.user, facts)
        context |= {
            "facts": facts,
            "other": facts.sides[1].study,
            "sources": [sources_of(side.study).evaluators for side in facts.sides],
            "sections": [
                (name, TWO_STUDIES.entries[name].words, report, html_tables(report))
                for name, report in made.items()
            ],
            "query": request.GET.urlencode(),
        }
    return render(request, "judging/analysis/audits/audit_beside.html", context)


@require_safe
@for_auditors
def audit_beside_file(request: AppRequest, study: Study, name: str, ending: str) -> HttpResponse:
    """One of the reports as a file."""
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
    """Note that the person reads what was said of each run of both studies."""
    studies = [side.study.pk for side in facts.sides]
    runs = {run.run for runs in facts.runs for run in runs}
    items = StudyItem.objects.filter(study__in=studies, run__among=runs)
    record_unblindings(user=user, items=items, reason="two studies side by side")
