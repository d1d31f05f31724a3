"""Learning jobs: watch, cancel, resume."""

from decimal import Decimal, InvalidOperation
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from runs.execution.paid_work import WorkRefusedError
from runs.knowledge_pages import KINDS
from runs.learning_pages import learning_context
from runs.models import LearningJob
from runs.services.learning import cancel_learning, resume_learning
from runs.views.fragments import AppRequest, wants_partial

may_view = permission_required("runs.view_knowledgeset", raise_exception=True)
may_add = permission_required(
    ["runs.view_knowledgeset", "runs.add_knowledgeset"], raise_exception=True
)


@require_safe
@vary_on_headers("HX-Request")
@may_view
def learning_job(request: AppRequest, job_id: UUID) -> HttpResponse:
    """One job, live: how far it is, what it costs, what came of it."""
    job = _job(job_id)
    name = "_learning_job" if wants_partial(request) else "learning_job"
    return render(request, f"runs/{name}.html", learning_context(job, request.user))


@require_POST
@may_add
def learning_cancel(request: AppRequest, job_id: UUID) -> HttpResponse:
    """Ask a job to stop."""
    if not cancel_learning(job=_job(job_id)):
        messages.info(request, _("The job had ended already."))
    return redirect("runs:learning_job", job_id)


@require_POST
@may_add
def learning_resume(request: AppRequest, job_id: UUID) -> HttpResponse:
    """Queue a stopped job again, where it stopped."""
    try:
        limit = _limit(request.POST.get("max_cost", ""))
        if not resume_learning(job=_job(job_id), max_cost=limit):
            messages.info(request, _("There is nothing to resume."))
    except WorkRefusedError as error:
        messages.error(request, str(error))
    return redirect("runs:learning_job", job_id)


def _job(job_id: UUID) -> LearningJob:
    jobs = LearningJob.objects.filter(kind__in=KINDS).select_related("created_by")
    return get_object_or_404(jobs, pk=job_id)


def _limit(text: str) -> Decimal | None:
    """Raises WorkRefusedError."""
    if not text.strip():
        return None
    try:
        limit = Decimal(text.strip())
    except InvalidOperation:
        limit = Decimal(0)
    if not limit.is_finite() or limit <= 0:
        raise WorkRefusedError(_("A cost limit is a number of dollars above 0."))
    return limit
