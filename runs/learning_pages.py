"""What the page of a learning job shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils import timezone

from runs.models import KnowledgeSet, LearningJob, Run, User

PROBLEMS_SHOWN = 100
State = LearningJob.State
STOPPED = (State.CANCELLED, State.STOPPED_BY_BUDGET, State.FAILED)
STATUS_CLASS = {State.STOPPED_BY_BUDGET.value: "cancelled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobProblem:
    """An item that nothing came of, and its run where it is about one."""

    problem: str
    run: Run | None


def learning_context(job: LearningJob, user: User) -> dict[str, Any]:
    """How far the job is, what it takes, and what came of it."""
    now = timezone.now()
    elapsed = None
    if job.started_at is not None:
        elapsed = ((job.ended_at or now) - job.started_at).total_seconds()
    rate = _rate(job)
    n_left = None if job.n_total is None else max(0, job.n_total - job.n_done)
    made = KnowledgeSet.objects.filter(job=job)
    raw = job.params.get("set") if job.kind == LearningJob.Kind.SUMMARISE else None
    return {
        "job": job,
        "status": STATUS_CLASS.get(job.state, job.state),
        "elapsed": elapsed,
        "rate": rate * 60 if rate else None,
        "left": n_left / rate if rate and n_left is not None else None,
        "n_left": n_left,
        "can_resume": job.state in STOPPED,
        "needs_budget": job.state == State.STOPPED_BY_BUDGET,
        "sets": made,
        "raw": KnowledgeSet.objects.filter(pk=raw).first() if raw else None,
        "problems": _problems(job, user),
    }


def _rate(job: LearningJob) -> float | None:
    """Items a second since it was last taken up; None while that is not known."""
    done = job.n_done - job.n_done_at_claim
    if job.state != State.RUNNING or job.claimed_at is None or not done:
        return None
    seconds = (timezone.now() - job.claimed_at).total_seconds()
    return done / seconds if seconds > 0 else None


def _problems(job: LearningJob, user: User) -> list[JobProblem]:
    """Those about runs that the person judges are left out."""
    items = list(job.items.exclude(problem="")[:PROBLEMS_SHOWN])
    if job.kind != LearningJob.Kind.EXTRACT:
        return [JobProblem(problem=item.problem, run=None) for item in items]
    shown = Run.objects.shown_to(user).not_blind().select_related("task")
    runs = {run.pk: run for run in shown.filter(pk__in=[UUID(item.key) for item in items])}
    return [
        JobProblem(problem=item.problem, run=runs[UUID(item.key)])
        for item in items
        if UUID(item.key) in runs
    ]
