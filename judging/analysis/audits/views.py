"""Audits: evaluators held against the reference verdicts of a study."""

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, NamedTuple, ParamSpec

import django_tables2 as tables
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Count, Q
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.figures import BY_KEY, QUESTIONS, draw, figures_of, rule_notes
from judging.analysis.audits.population import (
    FAILURE,
    INFEASIBLE,
    SUCCESS,
    counted_items,
    splits_of,
    unknown_split,
)
from judging.analysis.audits.query import read_audit_query
from judging.analysis.audits.repairs import before_and_after, findings, next_steps
from judging.analysis.audits.reports import (
    AUDIT,
    BY_SPLIT,
    check_known_split,
    check_split,
    document,
)
from judging.analysis.audits.tables import column
from judging.analysis.reports.registry import (
    as_file,
    as_picture,
    attached,
    check_address,
    html_tables,
)
from judging.analysis.reports.writing import FORMATS
from judging.models import Study, StudyItem
from judging.studies.access import AUDIT as READS
from judging.studies.access import for_auditors, record_unblindings, studies_hidden_from
from judging.studies.tables import study_link
from runs.interface.paging import BoundedPaginator
from runs.interface.requests import AppRequest, needs, wants_partial
from runs.models import User
from runs.operations.error_views import bad_queries

P = ParamSpec("P")


def audit_page(
    view: Callable[Concatenate[AppRequest, Study, P], HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    """A page or a file of a study's audit, read by those who may; a part of it for htmx."""
    return require_safe(vary_on_headers("HX-Request")(for_auditors(view)))


@audit_page
def audit(request: AppRequest, study: Study) -> HttpResponse:
    """All evaluators of a study on one population. Repairs, figures and pictures are fetched
    after it.
    """
    facts = facts_of(request, study)
    population = facts.population
    context = {
        "study": study,
        "audit": facts,
        "population": population,
        "query": facts.query,
        "findings": [{"audit": each} for each in facts.by_errors],
        "splits": facts.query.split_choices(splits_of(study)),
        "unknown_split": unknown_split(study, facts.query.split),
        "is_first": True,
        "awaits_repairs": not facts.query.split,
        "tables": {
            name: words
            for name, words in AUDIT.names.items()
            if name in BY_SPLIT or not facts.query.split
        },
        "is_evaluating": study.batches.active().exists(),
    }
    return render(request, "judging/analysis/audits/audit.html", context)


@audit_page
def audit_pictures(request: AppRequest, study: Study) -> HttpResponse:
    """The pictures of the page, which take longer than all its figures."""
    facts = facts_of(request, study)
    drawn = [
        (BY_KEY[key], question, draw(facts, key))
        for key, question in QUESTIONS.items()
        if facts.speaking
    ]
    context = {"study": study, "drawn": drawn, "query": facts.query}
    return as_part(request, "audits/_audit_pictures", context, part="matrices")


@audit_page
def audit_repairs(request: AppRequest, study: Study) -> HttpResponse:
    """What each evaluator gets wrong with what repairs it, drawn, and what to do next."""
    facts = facts_of(request, study, "repairs")
    found = findings(facts)
    context = {
        "study": study,
        "query": facts.query,
        "findings": found,
        "picture": before_and_after(found),
        "steps": next_steps(found),
    }
    return as_part(request, "audits/_audit_findings", context, part="matrices")


@audit_page
def audit_figures(request: AppRequest, study: Study) -> HttpResponse:
    """The figures side by side, with the intervals that take resampling."""
    facts = facts_of(request, study)
    context = {
        "study": study,
        "query": facts.query,
        "audit": facts,
        "choices": facts.query.choices("no_verdict"),
        "notes": rule_notes(facts),
        "figures": figures_of(facts),
        "shares_tasks": facts.shares_tasks,
        "corrected": AUDIT.tables("corrected", facts) if facts.corrected else [],
    }
    return as_part(request, "audits/_audit_figures", context, part="matrices")


@audit_page
def audit_agreement(request: AppRequest, study: Study) -> HttpResponse:
    facts = facts_of(request, study, "agreement")
    report = AUDIT.make("agreement", facts)
    context = {
        "study": study,
        "agreement": facts.agreement,
        "tables": html_tables(report),
        "notes": report.notes,
        "choices": (
            (gettext("Count “unsure”?"), facts.query.choices("unsure")),
            (gettext("Agreement between whom?"), facts.query.choices("pairing")),
        ),
    }
    return as_part(request, "audits/_audit_agreement", context, part="people")


def facts_of(
    request: AppRequest, study: Study, name: str = "matrices", *, in_file: bool = False
) -> AuditFacts:
    """The study's audit, counted as the address says, for a report of that name."""
    with bad_queries():
        facts = AuditFacts(study, read_audit_query(request.GET))
        check_split(facts, name)
        if in_file:
            check_known_split(study, facts.query.split)
    return facts


STYLES = ("audit", "compare", "experiment", "progress", "failures")
OF_AGENTS = ("progress", "detectors", "failures")
"""Pages on a study's agents, not on its evaluators: they belong to the experiments."""


def as_part(
    request: AppRequest, name: str, context: dict[str, Any], here: str = "", part: str = ""
) -> HttpResponse:
    """A part of a page by itself, or on a page of its own: for browsers without scripts, and
    where a link names it.

    Args:
        name: of its template.
        here: its title.
        part: the page of the audit that it is a part of, or which of `OF_AGENTS` it is.
    """
    template = f"judging/analysis/{name}.html"
    if wants_partial(request):
        return render(request, template, context)
    page: dict[str, object] = {"template": template, "here": here, "part": part}
    page |= {"styles": STYLES, "of_agents": part in OF_AGENTS}
    return render(request, "judging/analysis/audits/audit_part.html", context | page)


@audit_page
def audit_table(request: AppRequest, study: Study, name: str, ending: str) -> HttpResponse:
    check_address(ending, name, AUDIT)
    if AUDIT.entries[name].lists_runs:
        items = counted_items(study)
        record_unblindings(user=request.user, items=items, reason="table of an audit")
    facts = facts_of(request, study, name, in_file=True)
    return as_file(AUDIT.make(name, facts), ending)


@audit_page
def audit_report(request: AppRequest, study: Study, ending: str) -> HttpResponse:
    if ending not in FORMATS or ending == "csv":  # of which a file holds one table only
        raise Http404
    content = document(facts_of(request, study, in_file=True), ending)
    return attached(content, FORMATS[ending].content_type, f"report.{ending}")


@audit_page
def audit_picture(request: AppRequest, study: Study, name: str) -> HttpResponse:
    if name not in QUESTIONS:
        raise Http404
    facts = facts_of(request, study, in_file=True)
    return as_picture(draw(facts, name), name)


PER_PAGE = 50


class ListedStudy(NamedTuple):
    """A study and how far its judgement has come; no figure of it while it is hidden."""

    study: Study
    is_hidden: bool
    runs: int
    counted: int
    disputed: int


def listed_studies(user: User, studies: Sequence[Study]) -> list[ListedStudy]:
    """The rows of these studies, in two queries."""
    keys = [study.pk for study in studies]
    hidden = set(studies_hidden_from(user).filter(pk__in=keys).values_list("pk", flat=True))
    settled = Q(verdict__verdict__in=[SUCCESS, FAILURE]) & ~INFEASIBLE
    items = StudyItem.objects.filter(study__in=keys).order_by().values_list("study")
    counts = {
        key: (runs, 0, 0) if key in hidden else (runs, counted, disputed)
        for key, runs, counted, disputed in items.annotate(
            runs=Count("pk"),
            counted=Count("pk", filter=settled),
            disputed=Count("pk", filter=Q(status=StudyItem.Status.DISPUTED)),
        )
    }
    return [
        ListedStudy(study, study.pk in hidden, *counts.get(study.pk, (0, 0, 0)))
        for study in studies
    ]


class AuditedTable(tables.Table):  # type: ignore[misc]  # the library has no types
    """One `ListedStudy` a row."""

    study = column(_("study"), "first wide")
    runs = column(_("runs"), "num", "num", is_labelled=True)
    counted = column(_("with a reference verdict"), "num", "num", is_labelled=True)
    disputed = column(_("disputed"), "num", "num", is_labelled=True)

    class Meta:
        orderable = False
        attrs = {"class": "table list", "aria-label": _("studies")}

    def render_study(self, value: Study) -> SafeString:
        return study_link(value, "judging:audit")

    def render_counted(self, value: int, record: ListedStudy) -> str:
        if record.is_hidden:
            return gettext("opens once your own runs are settled")
        return str(intcomma(value))

    def render_disputed(self, value: int, record: ListedStudy) -> str:
        return "—" if record.is_hidden else str(intcomma(value))


@require_safe
@needs(READS)
def audit_home(request: AppRequest) -> HttpResponse:
    """All studies, the newest first, with what there is to audit in each."""
    studies = Study.objects.order_by("-created_at", "-pk")
    page = BoundedPaginator(studies, PER_PAGE).get_page(request.GET.get("page"))
    table = AuditedTable(listed_studies(request.user, list(page.object_list)))
    context = {"page": page, "table": table}
    return render(request, "judging/analysis/audits/audit_home.html", context)
