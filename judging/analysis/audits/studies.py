"""The studies that can be audited, and how far their judgement has come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import django_tables2 as tables
from django.contrib.auth.decorators import permission_required
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from judging.analysis.audits.population import FAILURE, INFEASIBLE, SUCCESS
from judging.models import Study, StudyItem
from judging.studies.access import AUDIT, studies_hidden_from
from judging.studies.tables import study_link
from runs.interface.fragments import AppRequest
from runs.interface.paging import BoundedPaginator
from runs.models import User

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


def _count(words: Any) -> tables.Column:
    td = {"class": "num", "data-label": words}
    return tables.Column(verbose_name=words, attrs={"td": td, "th": {"class": "num"}})


class AuditedTable(tables.Table):  # type: ignore[misc]  # the library has no types
    """One `ListedStudy` a row."""

    study = tables.Column(verbose_name=_("study"), attrs={"td": {"class": "first wide"}})
    runs = _count(_("runs"))
    counted = _count(_("with a reference verdict"))
    disputed = _count(_("disputed"))

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
@permission_required(AUDIT, raise_exception=True)
def audit_home(request: AppRequest) -> HttpResponse:
    """All studies, the newest first, with what there is to audit in each."""
    studies = Study.objects.order_by("-created_at", "-pk")
    page = BoundedPaginator(studies, PER_PAGE).get_page(request.GET.get("page"))
    table = AuditedTable(listed_studies(request.user, list(page.object_list)))
    context = {"page": page, "table": table}
    return render(request, "judging/analysis/audits/audit_home.html", context)
