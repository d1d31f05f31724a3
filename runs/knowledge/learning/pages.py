"""What the page of a learning job shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from runs.models import KnowledgeSet, LearningJob, Run, User
from runs.queue.work_forms import ResumeForm
from runs.queue.work_pages import cost_in_words, progress_of

PROBLEMS_SHOWN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProblem:
    """An item that nothing came of, and its run where it is about one."""

    problem: str
    run: Run | None


def learning_context(job: LearningJob, user: User) -> dict[str, Any]:
    """How far the job is, what it takes, and what came of it."""
    progress = progress_of(job)
    raw = job.params.get("set") if job.kind == LearningJob.Kind.SUMMARISE else None
    return {
        "job": job,
        "progress": progress,
        "cost": cost_in_words(job),
        "resume_form": ResumeForm(work=job) if progress.needs_budget else None,
        "sets": sorted(
            KnowledgeSet.objects.filter(job=job).order_by(), key=lambda made: made.place
        ),
        "raw": KnowledgeSet.objects.filter(pk=raw).first() if raw else None,
        "problems": _problems(job, user),
    }


def _problems(job: LearningJob, user: User) -> list[JobProblem]:
    """Those about runs that the person judges are left out."""
    items = list(job.items.exclude(problem="")[:PROBLEMS_SHOWN])
    if job.kind != LearningJob.Kind.EXTRACT:
        return [JobProblem(problem=item.problem, run=None) for item in items]
    shown = Run.objects.visible_to(user).not_blind().select_related("task")
    runs = {run.pk: run for run in shown.filter(pk__in=[UUID(item.key) for item in items])}
    return [
        JobProblem(problem=item.problem, run=runs[UUID(item.key)])
        for item in items
        if UUID(item.key) in runs
    ]
