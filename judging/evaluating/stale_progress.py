"""Progress that was measured by milestones which a task no longer has."""

from __future__ import annotations

import logging
from functools import partial

from django.db import transaction
from kombu.exceptions import OperationalError

from judging.evaluating.evaluating import version_of
from judging.evaluating.tasks import evaluate_task
from judging.evaluators.milestones import MechanicalMilestones
from judging.evaluators.progress import PROGRESS_EVALUATORS
from judging.models import Evaluation
from runs.catalogue.milestones.definitions import digest_of_task
from runs.models import Task

logger = logging.getLogger(__name__)


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
    if task.runs.exists():
        version = version_of(MechanicalMilestones())
        transaction.on_commit(partial(_dispatch, task.pk, version.pk))
    return len(stale)


def _dispatch(task_id: int, evaluator_id: int) -> None:
    # The milestones stand whether or not the runs can be measured now.
    try:
        evaluate_task.apply_async((task_id, evaluator_id), retry=False)
    except OperationalError as error:
        logger.warning("The runs of task %s wait for their evaluation: %s", task_id, error)
