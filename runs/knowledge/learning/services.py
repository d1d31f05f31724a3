"""Having something learned from runs in the background: start, cancel, resume."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from pydantic import JsonValue

from runs.knowledge.learning.tasks import dispatch_learning
from runs.models import LearningJob, User
from runs.queue.paid_work_services import check_limits, limit_to_resume, under_way


def start_learning(
    *,
    kind: LearningJob.Kind,
    model: str,
    params: Mapping[str, JsonValue],
    max_cost: Decimal | None = None,
    estimate: Mapping[str, JsonValue] | None = None,
    user: User | None = None,
    is_told: bool = False,
) -> LearningJob:
    """Queue a job. Whoever sends the same twice, by a double click, gets the one under way.

    Args:
        estimate: what it is expected to take, as it was shown.
        is_told: somebody takes it up at once, so no worker is told.

    Raises:
        WorkRefusedError: its model cannot be asked, or its limit of costs could not hold.
    """
    check_limits(model, max_cost)
    wish: dict[str, Any] = {
        "kind": kind,
        "model": model,
        "params": dict(params),
        "max_cost": max_cost,
    }
    with transaction.atomic():
        if user and (there := under_way(LearningJob, user, wish).first()):
            return there
        job = LearningJob.objects.create(
            **wish,
            estimate=dict(estimate or {}),
            created_by=user,
            dispatched_at=timezone.now() if is_told else None,
        )
        if not is_told:
            transaction.on_commit(dispatch_learning)
    return job


def cancel_learning(*, job: LearningJob) -> bool:
    """Ask a job to stop; what is done stays done. False if it had ended already."""
    return LearningJob.objects.request_cancel(job.pk)


def resume_learning(*, job: LearningJob, max_cost: Decimal | None = None) -> bool:
    """Queue a stopped job again, where it stopped; False if there is nothing to resume.

    Items that nothing came of are tried again.

    Args:
        max_cost: the new limit for all of it; as before where None.

    Raises:
        WorkRefusedError: its model cannot be asked, or what is spent has reached the limit.
    """
    limit = limit_to_resume(job, max_cost)
    with transaction.atomic():
        resumed = LearningJob.objects.resume(job.pk, max_cost=limit)
        if resumed:
            job.items.exclude(problem="").update(is_done=False, problem="", result={})
            through = job.items.filter(is_done=True).count()
            LearningJob.objects.filter(pk=job.pk).update(n_done=through, n_problems=0)
            transaction.on_commit(dispatch_learning)
    return resumed
