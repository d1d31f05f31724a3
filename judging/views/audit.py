"""Audits: evaluators held against the reference verdicts of a study."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from judging.audits.access import AUDIT, EVALUATE
from judging.audits.agreement import agreement_of
from judging.audits.home import listed_studies
from judging.audits.matrices import audit_of
from judging.audits.page import QUESTIONS, audit_page, draw
from judging.audits.tables import TABLES
from judging.evaluators.registry import predefined_evaluators
from judging.models import Study
from judging.reports import FORMATS, Table
from judging.services.evaluating import evaluation_progress, start_study_evaluation
from judging.views.auditing import for_auditors
from runs.views.fragments import AppRequest, wants_partial


@require_safe
@permission_required(AUDIT, raise_exception=True)
def audit_home(request: AppRequest) -> HttpResponse:
    """All studies, with what there is to audit in each."""
    return render(request, "judging/audit_home.html", {"rows": listed_studies(request.user)})


@require_safe
@for_auditors
def audit(request: AppRequest, study: Study) -> HttpResponse:
    """All evaluators of a study on one population, and the annotators against each other."""
    context = {
        "study": study,
        "page": audit_page(study),
        "tables": TABLES,
        "formats": FORMATS,
        "is_evaluating": "evaluating" in request.GET,
    }
    return render(request, "judging/audit.html", context)


@require_safe
@vary_on_headers("HX-Request")
@for_auditors
def audit_pictures(request: AppRequest, study: Study) -> HttpResponse:
    """The pictures of the page, which take longer than all its figures."""
    audit = audit_of(study)
    drawn = [draw(audit, key) for key in QUESTIONS] if audit.speaking else []
    return _part(request, "judging/_audit_pictures.html", {"study": study, "drawn": drawn})


@require_safe
@vary_on_headers("HX-Request")
@for_auditors
def audit_agreement(request: AppRequest, study: Study) -> HttpResponse:
    """The annotators against each other."""
    context = {"study": study, "agreement": agreement_of(study)}
    return _part(request, "judging/_audit_agreement.html", context)


def _part(request: AppRequest, part: str, context: dict[str, Any]) -> HttpResponse:
    """A part of the page by itself, or on a page of its own for browsers without scripts."""
    if wants_partial(request):
        return render(request, part, context)
    return render(request, "judging/audit_part.html", context | {"part": part})


@require_POST
@permission_required(EVALUATE, raise_exception=True)
@for_auditors
def audit_evaluate(request: AppRequest, study: Study) -> HttpResponse:
    """Have the study's runs evaluated in the background by all evaluators that we have."""
    started = start_study_evaluation(study=study, evaluators=predefined_evaluators())
    if not started:
        messages.info(request, _("Every run has been evaluated by every evaluator already."))
        return redirect("judging:audit", study.pk)
    words = ngettext("%(n)s evaluator is at work.", "%(n)s evaluators are at work.", len(started))
    messages.success(request, words % {"n": len(started)})
    response = redirect("judging:audit", study.pk)
    response["Location"] += "?evaluating"
    return response


@require_safe
@for_auditors
def audit_progress(request: AppRequest, study: Study) -> HttpResponse:
    """How many evaluations are made; brings the page anew once all are."""
    progress = evaluation_progress(study=study, evaluators=predefined_evaluators())
    if progress.is_complete:
        response = HttpResponse(status=204)
        response["HX-Redirect"] = request.path.removesuffix("progress/")
        return response
    context = {"study": study, "progress": progress}
    return render(request, "judging/_audit_progress.html", context)


@require_safe
@for_auditors
def audit_table(request: AppRequest, study: Study, name: str, ending: str) -> HttpResponse:
    """One of the page's tables as a file."""
    if name not in TABLES or ending not in FORMATS:
        raise Http404
    return as_file(TABLES[name](study), ending)


@require_safe
@for_auditors
def audit_picture(request: AppRequest, study: Study, name: str) -> HttpResponse:
    """One of the page's pictures as a file."""
    if name not in QUESTIONS:
        raise Http404
    picture = draw(audit_of(study), name).picture
    response = HttpResponse(picture, content_type="image/svg+xml")
    response["Content-Disposition"] = f'attachment; filename="{name}.svg"'
    return response


def as_file(table: Table, ending: str) -> HttpResponse:
    """The table as a file to keep."""
    written = FORMATS[ending]
    response = HttpResponse(written.write(table), content_type=written.content_type)
    response["Content-Disposition"] = f'attachment; filename="{table.name}.{ending}"'
    return response
