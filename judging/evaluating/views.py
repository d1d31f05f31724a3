"""Batches of evaluations: start, watch, cancel, resume, with what their pages show."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import django_tables2 as tables
from django.contrib import messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from judging.evaluating.forms import EvaluateForm, selected_runs
from judging.evaluating.services import batches_shown_to, cancel_batch, resume_batch
from judging.models import Evaluation, EvaluationBatch, EvaluatorVersion, Study
from judging.studies.access import AUDIT, EVALUATE, for_auditors
from runs.interface.lists import row_address
from runs.interface.paging import BoundedPaginator
from runs.interface.requests import AppRequest, demand, needs, wants_partial
from runs.interface.words import duration, moment, verdict
from runs.models import User
from runs.models.parsing import ids_of, read_number
from runs.models.runs.queries import run_title
from runs.queue.jobs import WorkProgress, cost_in_words, progress_of
from runs.queue.paid_work import WorkRefusedError
from runs.queue.paid_work_services import ResumeForm, resume

PER_PAGE = 30
ERRORS_SHOWN = 100
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
        messages.info(request, gettext("You cannot have these runs evaluated yet."))
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
        "table": _BatchTable(_batch_rows(page.object_list, request.user)),
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
    [row] = _batch_rows([batch], request.user)
    form = ResumeForm(work=batch) if row.progress.needs_budget and row.can_resume else None
    context = {"batch": batch, "row": row, "errors": _errors(batch), "resume_form": form}
    return render(request, "judging/evaluating/batch_detail.html", context)


def _errors(batch: EvaluationBatch) -> dict[str, Any]:
    """Runs on which the evaluator came to no verdict: by reason, and the first of them."""
    errors = batch.evaluations.filter(verdict=Evaluation.Verdict.ERROR)
    reasons = errors.values_list("reason").annotate(n=Count("pk")).order_by("-n", "reason")
    titled = errors.annotate(title=run_title("run__")).select_related("run")
    shown = titled.only("run__is_stub", "reason").order_by("created_at", "pk")
    return {"reasons": reasons, "shown": shown[:ERRORS_SHOWN], "total": batch.n_error}


@require_POST
@may_evaluate
def batch_cancel(request: AppRequest, batch_id: UUID) -> HttpResponse:
    """Ask a batch to stop."""
    batch = get_object_or_404(batches_shown_to(request.user), pk=batch_id)
    if not cancel_batch(batch=batch):
        messages.info(request, gettext("It had already ended."))
    return redirect("judging:batch_detail", batch_id)


@require_POST
@may_evaluate
def batch_resume(request: AppRequest, batch_id: UUID) -> HttpResponse:
    """Queue a stopped batch again, where it stopped."""
    batch = get_object_or_404(batches_shown_to(request.user), pk=batch_id)
    resume(request, batch, lambda limit: resume_batch(batch=batch, max_cost=limit))
    return redirect("judging:batch_detail", batch_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class _BatchRow:
    """One batch with what follows from its columns."""

    batch: EvaluationBatch
    progress: WorkProgress
    cost: str
    can_cancel: bool
    can_resume: bool

    @property
    def verdicts(self) -> SafeString | str:
        """Verdicts with their counts, those that there are."""
        counts = [(value, getattr(self.batch, f"n_{value}")) for value in Evaluation.Verdict.values]
        found = [(self._words(value), intcomma(count)) for value, count in counts if count]
        counted = '<span class="count-of">{} <span class="num">{}</span></span>'
        return format_html_join("\n", counted, found) or "—"

    def _words(self, value: str) -> SafeString:
        if value in (Evaluation.Verdict.PASSED, Evaluation.Verdict.FAILED):
            return verdict(value)
        if value == Evaluation.Verdict.ERROR:
            return format_html('<span class="verdict error">{}</span>', gettext("no verdict"))
        reviews = self.batch.evaluator.kind == EvaluatorVersion.Kind.MODES
        words = gettext("reviewed") if reviews else gettext("not applicable")
        return format_html('<span class="muted">{}</span>', words)


def _batch_rows(batches: Iterable[EvaluationBatch], user: User) -> list[_BatchRow]:
    """The rows, with what the person may do about each."""
    is_allowed, rows = user.has_perm(EVALUATE), []
    for batch in batches:
        progress = progress_of(batch)
        rows.append(
            _BatchRow(
                batch=batch,
                progress=progress,
                cost=cost_in_words(batch) if batch.model else "",
                can_cancel=is_allowed and batch.is_active and batch.cancel_requested_at is None,
                can_resume=is_allowed and batch.can_resume and progress.n_left != 0,
            )
        )
    return rows


def _column(
    words: Any, accessor: str, classes: str = "nowrap", default: Any = "—"
) -> tables.Column:
    td = {"class": classes, "data-label": words}
    return tables.Column(verbose_name=words, accessor=accessor, attrs={"td": td}, default=default)


class _BatchTable(tables.Table):  # type: ignore[misc]  # the library has no types
    """One `_BatchRow` a row."""

    evaluator = _column(_("evaluator"), "batch__evaluator", "wide first")
    study = _column(_("Runs of"), "batch__study", default=_("a selection"))
    state = _column(capfirst(_("state")), "batch__state")
    done = _column(_("Done"), "batch__n_done", "nowrap num")
    verdicts = _column(_("Verdicts"), "verdicts")
    cost = _column(_("cost"), "cost")
    left = _column(_("Left"), "progress__left", "nowrap num desk")
    requested = _column(_("Requested"), "batch__created_at", "nowrap desk")

    class Meta:
        orderable = False
        attrs = {"class": "table list batches", "aria-label": _("Evaluation batches")}

    def render_evaluator(self, record: _BatchRow) -> SafeString:
        batch = record.batch
        address = row_address("judging:batch_detail", batch.pk)
        link = format_html('<a class="row-link" href="{}">{}</a>', address, batch.evaluator.shown)
        model = '<br><span class="muted small mono">{}</span>'
        return link + format_html(model, batch.model) if batch.model else link

    def render_study(self, value: Any) -> str:
        return str(value.name)

    def render_state(self, record: _BatchRow) -> SafeString:
        batch, stopping = record.batch, ""
        if batch.is_active and batch.cancel_requested_at:
            stopping = format_html(' <span class="muted small">{}</span>', gettext("stopping …"))
        state = '<span class="status {}">{}</span>{}'
        return format_html(state, record.progress.status, batch.get_state_display(), stopping)

    def render_done(self, value: int, record: _BatchRow) -> str:
        total = record.batch.n_total
        if total is None:
            return str(intcomma(value))
        return gettext("%(n)s of %(total)s") % {"n": intcomma(value), "total": intcomma(total)}

    def render_left(self, value: float) -> str:
        return gettext("about %(time)s") % {"time": duration(value)}

    def render_requested(self, value: datetime, record: _BatchRow) -> SafeString:
        by = record.batch.created_by
        person = format_html(' <span class="muted small">{}</span>', by) if by else ""
        return format_html("{}{}", moment(value), person)
