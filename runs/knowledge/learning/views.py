"""Learning jobs: watch, cancel, resume."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from runs.interface.fragments import AppRequest, wants_partial
from runs.knowledge.learning.pages import learning_context
from runs.knowledge.learning.services import cancel_learning, resume_learning
from runs.knowledge.web.pages import KINDS
from runs.models import LearningJob
from runs.queue.resuming import resume

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
    return render(request, f"runs/knowledge/{name}.html", learning_context(job, request.user))


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
    job = _job(job_id)
    resume(request, job, lambda limit: resume_learning(job=job, max_cost=limit))
    return redirect("runs:learning_job", job_id)


def _job(job_id: UUID) -> LearningJob:
    jobs = LearningJob.objects.filter(kind__in=KINDS).select_related("created_by")
    return get_object_or_404(jobs, pk=job_id)
