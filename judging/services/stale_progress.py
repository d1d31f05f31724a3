"""Progress that was measured by milestones which a task no longer has."""

from __future__ import annotations

from functools import partial

from django.db import transaction

from judging.evaluators.milestones import MechanicalMilestones
from judging.evaluators.progress import PROGRESS_EVALUATORS
from judging.execution.evaluating import version_of
from judging.models import Evaluation
from judging.services.evaluating import evaluate_in_background
from runs.milestones import digest_of_task
from runs.models import Run, RunStatus, Task


@transaction.atomic
def retire_progress(*, task_id: int) -> int:
    """Keep evaluations by former milestones as history; how many there were.

    What the steps alone tell is found anew in the background. What a model has to be asked for
    waits until somebody asks: the same question is answered from the kept replies.
    """
    task = Task.objects.get(pk=task_id)
    current = Evaluation.objects.filter(
        run__task=task, evaluator__name__in=PROGRESS_EVALUATORS, is_current=True
    )
    digest = digest_of_task(task)
    stale = [
        pk
        for pk, measured_by in current.values_list("pk", "details__milestones_hash")
        if measured_by != digest
    ]
    Evaluation.objects.filter(pk__in=stale).update(is_current=False)
    ended = Run.objects.filter(task=task, status__in=RunStatus.ended(), n_steps__gt=0)
    version = version_of(MechanicalMilestones())
    run_ids = list(ended.values_list("pk", flat=True))
    transaction.on_commit(partial(evaluate_in_background, run_ids=run_ids, version=version))
    return len(stale)
