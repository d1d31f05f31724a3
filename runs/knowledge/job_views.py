"""Pages of learning jobs: watch, cancel, resume."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from runs.interface.requests import AppRequest, needs
from runs.knowledge.learning import cancel_learning, resume_learning
from runs.knowledge.web.pages import KINDS
from runs.models import KnowledgeSet, LearningJob, Run, User
from runs.queue.jobs import cost_in_words, progress_of
from runs.queue.paid_work_services import ResumeForm, resume

PROBLEMS_SHOWN = 100


def job_context(job: LearningJob) -> dict[str, Any]:
    """How far a job is, what it takes, and the form of a new limit where it needs one."""
    progress = progress_of(job)
    return {
        "job": job,
        "progress": progress,
        "cost": cost_in_words(job),
        "resume_form": ResumeForm(work=job) if progress.needs_budget else None,
    }


def cancelled(request: AppRequest, job: LearningJob) -> HttpResponse:
    """Ask the job to stop, and show its page again."""
    if not cancel_learning(job=job):
        messages.info(request, _("It had already ended."))
    return redirect(job)


def resumed(request: AppRequest, job: LearningJob) -> HttpResponse:
    """Queue the stopped job again, where it stopped, and show its page again."""
    resume(request, job, lambda limit: resume_learning(job=job, max_cost=limit))
    return redirect(job)


def _problems(job: LearningJob, user: User) -> list[dict[str, Any]]:
    """Those about runs that the person judges are left out."""
    items = list(job.items.exclude(problem="")[:PROBLEMS_SHOWN])
    if job.kind != LearningJob.Kind.EXTRACT:
        return [{"problem": item.problem} for item in items]
    shown = Run.objects.visible_to(user).not_blind().select_related("task")
    runs = {run.pk: run for run in shown.filter(pk__in=[UUID(item.key) for item in items])}
    return [
        {"problem": item.problem, "run": runs[UUID(item.key)]}
        for item in items
        if UUID(item.key) in runs
    ]


may_view = needs("runs.view_knowledgeset")
may_add = needs("runs.view_knowledgeset", "runs.add_knowledgeset")


@require_safe
@vary_on_headers("HX-Request")
@may_view
def learning_job(request: AppRequest, job_id: UUID) -> HttpResponse:
    """One job, live: how far it is, what it costs, what came of it."""
    job = _job(job_id)
    made = KnowledgeSet.objects.filter(job=job).order_by()
    raw = job.params.get("set") if job.kind == LearningJob.Kind.SUMMARISE else None
    context = {
        **job_context(job),
        "sets": sorted(made, key=lambda each: each.place),
        "raw": KnowledgeSet.objects.filter(pk=raw).first() if raw else None,
        "problems": _problems(job, request.user),
    }
    return render(request, "runs/knowledge/learning_job.html", context)


@require_POST
@may_add
def learning_cancel(request: AppRequest, job_id: UUID) -> HttpResponse:
    """Ask a job to stop."""
    return cancelled(request, _job(job_id))


@require_POST
@may_add
def learning_resume(request: AppRequest, job_id: UUID) -> HttpResponse:
    """Queue a stopped job again, where it stopped."""
    return resumed(request, _job(job_id))


def _job(job_id: UUID) -> LearningJob:
    jobs = LearningJob.objects.filter(kind__in=KINDS).select_related("created_by")
    return get_object_or_404(jobs, pk=job_id)
