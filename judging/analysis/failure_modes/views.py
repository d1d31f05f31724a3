"""How runs failed: people's words on one run and on many, and the shares of a study."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.failure_modes import failure_modes, read_selection
from judging.analysis.audits.views import as_part, audit_page
from judging.analysis.failure_modes.pages import (
    REVIEW,
    ChosenRunsForm,
    FailureForm,
    FailurePane,
    with_failure_modes,
)
from judging.analysis.failure_modes.services import (
    Statement,
    confirm_proposals,
    review_runs,
    undo_reviews,
)
from judging.analysis.failure_modes.sources import ModeSource, definitions
from judging.analysis.reports.html import html_tables
from judging.evaluating.forms import selected_runs
from judging.models import FailureReview, Study, StudyItem
from judging.models.causes import Batch
from judging.studies.access import AUDIT, record_unblindings
from runs.interface.fragments import AppRequest, wants_partial
from runs.models import Run, RunStatus
from runs.models.parsing import ids_of
from runs.operations.error_views import bad_queries

PER_PAGE = 100


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@permission_required(AUDIT, raise_exception=True)
def failure_review(request: AppRequest, run_id: UUID) -> HttpResponse:
    """What is proposed for one run, and the form to confirm, change or reject it."""
    runs = Run.objects.visible_to(request.user).not_blind().filter(status__in=RunStatus.ended())
    run = get_object_or_404(runs, pk=run_id)
    record_unblindings(
        user=request.user, items=StudyItem.objects.filter(run=run), reason="failure of a run"
    )
    if request.method != "POST":
        return _pane(request, run)
    if not request.user.has_perm(REVIEW):
        raise PermissionDenied
    form = FailureForm(request.POST)
    if not _take(request, run, form):
        return _pane(request, run, form, status=422)
    return _pane(request, run)


def _take(request: AppRequest, run: Run, form: FailureForm) -> bool:
    """Whether what was asked for could be done; the form says why not."""
    action, user = request.POST.get("action"), request.user
    if action == "confirm":
        confirm_proposals(user=user, run_ids=[run.pk])
    elif action == "reject":
        review_runs(user=user, run_ids=[run.pk], statement=Statement())
    elif action == "undo":
        current = FailureReview.objects.filter(run=run, is_current=True).first()
        if current is not None:
            undo_reviews(user=user, batch=current.batch, run_ids=[run.pk])
    elif form.is_valid():
        review_runs(user=user, run_ids=[run.pk], statement=form.statement)
    else:
        return False
    return True


def _pane(
    request: AppRequest, run: Run, form: FailureForm | None = None, status: int = 200
) -> HttpResponse:
    alone = wants_partial(request)
    context = {
        "failure": FailurePane(run, request.user, form),
        "is_saved": request.method == "POST" and status == 200,
        "steps_at": "" if alone else reverse("runs:run_detail", args=[run.pk]),
    }
    name = "_failure_pane" if alone else "failure_review"
    return render(request, f"judging/analysis/failure_modes/{name}.html", context, status=status)


@require_POST
@permission_required([AUDIT, REVIEW], raise_exception=True)
def failure_reviews(request: AppRequest) -> HttpResponse:
    """The same for the runs named by `run`, as far as the person may know their verdicts."""
    form = ChosenRunsForm(request.POST)
    runs = selected_runs(request.user, ids_of(request.POST.getlist("run")))
    back = _way_back(request)
    if not form.is_valid():
        problems = [str(each) for errors in form.errors.values() for each in errors]
        messages.error(request, " ".join(problems))
        return redirect(back)
    user, action = request.user, form.cleaned_data["action"]
    if action == "undo":
        batch = form.cleaned_data["batch"]
        said_together = FailureReview.objects.filter(batch=batch).values_list("run", flat=True)
        known = selected_runs(user, list(said_together))
        n = undo_reviews(user=user, batch=batch, run_ids=known)
        messages.success(request, _("Undone for %(n)s runs.") % {"n": n})
        return redirect(back)
    if not runs:
        messages.error(request, _("Select at least one run."))
        return redirect(back)
    if action == "confirm":
        result = confirm_proposals(user=user, run_ids=runs, note=form.statement.note)
    else:
        result = review_runs(user=user, run_ids=runs, statement=form.statement)
    return _reviewed(request, result, back)


def _reviewed(request: AppRequest, result: Batch, back: str) -> HttpResponse:
    words = ngettext("Saved for %(n)s run.", "Saved for %(n)s runs.", result.changed)
    messages.success(request, words % {"n": result.changed})
    if result.left_out:
        words = ngettext(
            "No proposals for %(n)s of them.",
            "No proposals for %(n)s of them.",
            result.left_out,
        )
        messages.info(request, words % {"n": result.left_out})
    if not result.changed:
        return redirect(back)
    return redirect(f"{back}{'&' if '?' in back else '?'}batch={result.batch}")


def _way_back(request: AppRequest) -> str:
    """The list that it was sent from, without the batch before; the runs where it names none."""
    back = request.POST.get("back", "")
    if not url_has_allowed_host_and_scheme(back, allowed_hosts=None) or not back.startswith("/"):
        return reverse("runs:run_list")
    return back


@audit_page
def audit_failures(request: AppRequest, study: Study) -> HttpResponse:
    """How the failures of a study failed, configuration by configuration."""
    with bad_queries("by"):
        by = ModeSource(request.GET.get("by") or ModeSource.KNOWN)
    report = failure_modes(AuditFacts(study), by)
    context = {
        "study": study,
        "report": report,
        "tables": html_tables(report) if report.page_rows else [],
        "sources": dict(ModeSource.choices),
        "chosen_source": by,
        "definitions": definitions(),
    }
    return as_part(
        request, "failure_modes/_audit_failures", context, capfirst(_("failure modes")), "people"
    )


@audit_page
def audit_failure_runs(request: AppRequest, study: Study) -> HttpResponse:
    """The runs behind a number of that page."""
    with bad_queries():
        selection = read_selection(request.GET)
    page = Paginator(selection.runs(study), PER_PAGE).get_page(request.GET.get("page"))
    listed = with_failure_modes(page.object_list)
    items = StudyItem.objects.filter(study=study, run__in=[run.pk for run in listed])
    record_unblindings(user=request.user, items=items, reason="failures of an audit")
    context = {
        "study": study,
        "selection": selection,
        "chips": selection.chips(study),
        "page": page,
        "listed": listed,
        "form": FailureForm(),
        "batch": request.GET.get("batch", ""),
    }
    return render(request, "judging/analysis/failure_modes/audit_failure_runs.html", context)
