"""Batches of evaluations: start, watch, cancel, resume, with what their pages show."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from judging.evaluating.forms import EvaluateForm, selected_runs
from judging.evaluating.services import batches_shown_to, cancel_batch, resume_batch
from judging.evaluating.tables import BatchTable, batch_rows
from judging.models import Evaluation, EvaluationBatch, Study
from judging.studies.access import AUDIT, EVALUATE, for_auditors
from runs.interface.paging import BoundedPaginator
from runs.interface.requests import AppRequest, demand, needs, wants_partial
from runs.models.parsing import ids_of, read_number
from runs.models.runs.queries import run_title
from runs.queue.paid_work import WorkRefusedError
from runs.queue.paid_work_services import ResumeForm, resume

PER_PAGE = 30
ERRORS_SHOWN = 100


def _errors(batch: EvaluationBatch) -> dict[str, Any]:
    """Runs on which the evaluator came to no verdict: by reason, and the first of them."""
    errors = batch.evaluations.filter(verdict=Evaluation.Verdict.ERROR)
    reasons = errors.values_list("reason").annotate(n=Count("pk")).order_by("-n", "reason")
    titled = errors.annotate(title=run_title("run__")).select_related("run")
    shown = titled.only("run__is_stub", "reason").order_by("created_at", "pk")
    return {"reasons": reasons, "shown": shown[:ERRORS_SHOWN], "total": batch.n_error}


may_audit = needs(AUDIT)
may_evaluate = needs(AUDIT, EVALUATE)


@require_http_methods(["GET", "HEAD", "POST"])
@for_auditors
def audit_evaluate(request: AppRequest, study: Study) -> HttpResponse:
    """The form that has a study evaluated; sent, it queues one batch for each evaluator."""
    demand(request.user, EVALUATE)
    return _ask_or_start(request, study=study, run_ids=[])


@require_POST
@may_evaluate
def runs_evaluate(request: AppRequest) -> HttpResponse:
    """The same for the runs named by `run`, as far as the person may know their verdicts."""
    runs = selected_runs(request.user, ids_of(request.POST.getlist("run")))
    if not runs:
        messages.info(request, _("You cannot have these runs evaluated yet."))
        return redirect("runs:run_list")
    return _ask_or_start(request, study=None, run_ids=runs)


def _ask_or_start(request: AppRequest, *, study: Study | None, run_ids: list[UUID]) -> HttpResponse:
    is_sent = "start" in request.POST or "estimate" in request.POST
    form = EvaluateForm(request.POST if is_sent else None, study=study, run_ids=run_ids)
    context = {"form": form, "study": study, "run_ids": run_ids, "problem": form.why_no_model}
    if "estimate" in request.POST and wants_partial(request):
        return render(
            request, "judging/evaluating/_evaluate_estimate.html", {"lines": form.estimates()}
        )
    if "start" in request.POST and form.is_valid():
        try:
            started = form.start(request.user)
        except WorkRefusedError as error:
            form.add_error(None, str(error))
        else:
            return _started(request, started)
    status = 422 if "start" in request.POST else 200
    return render(request, "judging/evaluating/evaluate.html", context, status=status)


def _started(request: AppRequest, batches: list[EvaluationBatch]) -> HttpResponse:
    words = ngettext("%(n)d batch is queued.", "%(n)d batches are queued.", len(batches))
    messages.success(request, words % {"n": len(batches)})
    if len(batches) == 1:
        return redirect("judging:batch_detail", batches[0].pk)
    return redirect("judging:batch_list")


@require_safe
@vary_on_headers("HX-Request")
@may_audit
def batch_list(request: AppRequest) -> HttpResponse:
    """All batches, live: what runs, what waits, what came of the last ones."""
    found = batches_shown_to(request.user)
    if (study := read_number(request.GET.get("study", ""))) is not None:
        found = found.filter(study=study)
    page = BoundedPaginator(found, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "table": BatchTable(batch_rows(page.object_list, request.user)),
        "moves": any(batch.is_active for batch in page.object_list),
        "query": request.GET.urlencode(),
    }
    return render(request, "judging/evaluating/batch_list.html", context)


@require_safe
@vary_on_headers("HX-Request")
@may_audit
def batch_detail(request: AppRequest, batch_id: UUID) -> HttpResponse:
    """One batch, live: how far it is, what it costs, and what went wrong on which runs."""
    batch = get_object_or_404(batches_shown_to(request.user), pk=batch_id)
    [row] = batch_rows([batch], request.user)
    form = ResumeForm(work=batch) if row.progress.needs_budget and row.can_resume else None
    context = {"batch": batch, "row": row, "errors": _errors(batch), "resume_form": form}
    return render(request, "judging/evaluating/batch_detail.html", context)


@require_POST
@may_evaluate
def batch_cancel(request: AppRequest, batch_id: UUID) -> HttpResponse:
    """Ask a batch to stop."""
    batch = get_object_or_404(batches_shown_to(request.user), pk=batch_id)
    if not cancel_batch(batch=batch):
        messages.info(request, _("It had already ended."))
    return redirect("judging:batch_detail", batch_id)


@require_POST
@may_evaluate
def batch_resume(request: AppRequest, batch_id: UUID) -> HttpResponse:
    """Queue a stopped batch again, where it stopped."""
    batch = get_object_or_404(batches_shown_to(request.user), pk=batch_id)
    resume(request, batch, lambda limit: resume_batch(batch=batch, max_cost=limit))
    return redirect("judging:batch_detail", batch_id)
