"""Hints: the jobs that wrote them, and each with its source and its uses."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from runs.interface.fragments import AppRequest, wants_partial
from runs.knowledge.hints.pages import (
    hint_jobs,
    job_page,
    job_rows,
    jobs_shown_to,
    open_jobs,
    uses_of,
)
from runs.knowledge.learning import cancel_learning, resume_learning
from runs.models import Hint, LearningJob
from runs.queue.paid_work_services import resume
from webagent.llm.tokens import count_tokens

may_view = permission_required("runs.view_hint", raise_exception=True)
may_write = permission_required("runs.add_hint", raise_exception=True)


@require_safe
@vary_on_headers("HX-Request")
@may_view
def hint_list(request: AppRequest) -> HttpResponse:
    """The jobs that wrote hints, live."""
    rows = job_rows(jobs_shown_to(request.user))
    context = {"rows": rows, "moves": any(row.job.is_active for row in rows)}
    name = "_hint_jobs" if wants_partial(request) else "hint_list"
    return render(request, f"runs/knowledge/{name}.html", context)


@require_safe
@vary_on_headers("HX-Request")
@may_view
def hint_job(request: AppRequest, job_id: UUID) -> HttpResponse:
    """One job, live: how far it is, what it wrote from which runs, and what came to nothing."""
    page = job_page(_job(request, job_id), request.user)
    name = "_hint_job" if wants_partial(request) else "hint_job"
    return render(request, f"runs/knowledge/{name}.html", {"page": page, "job": page.job})


@require_POST
@may_write
def hint_job_cancel(request: AppRequest, job_id: UUID) -> HttpResponse:
    """Ask a job to stop."""
    if not cancel_learning(job=_job(request, job_id)):
        messages.info(request, _("The job had ended already."))
    return redirect("runs:hint_job", job_id)


@require_POST
@may_write
def hint_job_resume(request: AppRequest, job_id: UUID) -> HttpResponse:
    """Queue a stopped job again, where it stopped."""
    job = _job(request, job_id)
    resume(request, job, lambda limit: resume_learning(job=job, max_cost=limit))
    return redirect("runs:hint_job", job_id)


@require_safe
@may_view
def hint_detail(request: AppRequest, hint_id: int) -> HttpResponse:
    """One hint: its text, where it comes from, and who was told it."""
    hint = get_object_or_404(Hint.objects.visible_to(request.user).for_list(), pk=hint_id)
    context = {
        "hint": hint,
        "tokens": count_tokens(hint.text),
        "uses": uses_of(hint, request.user),
        "siblings": Hint.objects.filter(job=hint.job, source=hint.source).exclude(pk=hint.pk),
    }
    return render(request, "runs/knowledge/hint_detail.html", context)


def _job(request: AppRequest, job_id: UUID) -> LearningJob:
    """The job, if nothing of it is hidden from the person."""
    job = get_object_or_404(hint_jobs(), pk=job_id)
    if not open_jobs([job], request.user):
        raise Http404
    return job
