"""How runs failed: people's words on one run and on many, and the shares of a study."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from judging.analysis.audits.facts import AuditFacts
from judging.analysis.audits.reports import errors_of, failure_modes, failures_of
from judging.analysis.audits.views import as_part, audit_page
from judging.analysis.experiments.selection import FILTERS, read_chosen
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
from judging.analysis.failure_modes.sources import ModeSource, definitions, showing
from judging.analysis.reports.registry import html_tables
from judging.evaluating.forms import selected_runs
from judging.models import FailureReview, Study, StudyItem
from judging.models.causes import Batch
from judging.studies.access import AUDIT, record_unblindings
from runs.interface.requests import AppRequest, demand, needs, wants_partial
from runs.models import AgentConfiguration, Run
from runs.models.parsing import ids_of
from runs.operations.error_views import bad_queries
from webagent.trajectory.verdict_records import Mode

PER_PAGE = 100


@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
@needs(AUDIT)
def failure_review(request: AppRequest, run_id: UUID) -> HttpResponse:
    """What is proposed for one run, and the form to confirm, change or reject it."""
    runs = Run.objects.visible_to(request.user).not_blind().ended()
    run = get_object_or_404(runs, pk=run_id)
    record_unblindings(
        user=request.user, items=StudyItem.objects.filter(run=run), reason="failure of a run"
    )
    if request.method != "POST":
        return _pane(request, run)
    demand(request.user, REVIEW)
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
@needs(AUDIT, REVIEW)
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
            "No proposals for %(n)s of them.", "No proposals for %(n)s of them.", result.left_out
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
        request, "failure_modes/_audit_failures", context, capfirst(_("failure modes")), "failures"
    )


def _chips(study: Study, chosen: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What is chosen in words, and the query without it."""
    for key, value in chosen.items():
        words = FILTERS[key].words(value)
        if key == "agent":  # only those that acted here: others may be hidden from the reader
            acted = AgentConfiguration.objects.filter(runs__study_items__study=study)
            words = acted.filter(pk=value).first() or value
        yield str(words), urlencode({name: v for name, v in chosen.items() if name != key})


def _failing(study: Study, chosen: Mapping[str, str]) -> QuerySet[Any]:
    """The failures so chosen; with the environment's also runs that ended in its errors."""
    runs, mode = failures_of(study), chosen.get("mode")
    if mode == Mode.ENVIRONMENT:
        of_either = Q(pk__in=runs.values("pk")) | Q(pk__in=errors_of(study).values("pk"))
        runs = Run.objects.filter(of_either)
    if "agent" in chosen:
        runs = runs.filter(agent=chosen["agent"])
    if mode:
        runs = showing(runs, mode, ModeSource(chosen.get("by", ModeSource.KNOWN)))
    listed: QuerySet[Any] = runs.select_related("task", "agent")
    return listed.order_by("task__external_id", "agent", "trial", "pk")


@audit_page
def audit_failure_runs(request: AppRequest, study: Study) -> HttpResponse:
    with bad_queries():
        chosen = read_chosen(request.GET, ("agent", "mode", "by"))
    page = Paginator(_failing(study, chosen), PER_PAGE).get_page(request.GET.get("page"))
    listed = with_failure_modes(page.object_list)
    for run in listed:
        run.configuration = " · ".join(filter(None, (str(run.agent), run.agent.model)))
    items = StudyItem.objects.filter(study=study, run__in=[run.pk for run in listed])
    record_unblindings(user=request.user, items=items, reason="failures of an audit")
    context = {
        "study": study,
        "query": urlencode(chosen),
        "chips": list(_chips(study, chosen)),
        "page": page,
        "listed": listed,
        "form": FailureForm(),
        "batch": request.GET.get("batch", ""),
    }
    return render(request, "judging/analysis/failure_modes/audit_failure_runs.html", context)
