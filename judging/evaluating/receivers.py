"""Evaluations that nobody asks for: when runs end, and when milestones change."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from celery import Task as CeleryTask
from django.db import transaction
from django.dispatch import receiver
from kombu.exceptions import OperationalError

from judging.evaluating.evaluating import evaluation_of, version_of
from judging.evaluating.tasks import evaluate_run, evaluate_task
from judging.evaluators.contract import Evaluator, having_read
from judging.evaluators.milestones import PROGRESS_EVALUATORS, MechanicalMilestones
from judging.evaluators.registry import predefined_evaluators
from judging.models import Evaluation, EvaluatorVersion
from runs.catalogue.milestones.definitions import digest_of_task
from runs.models import Run, Task
from runs.models.signals import milestones_changed, runs_ended

logger = logging.getLogger(__name__)


@receiver(runs_ended, dispatch_uid="judging.evaluate_ended_runs")
def evaluate_ended_runs(*, run_ids: Sequence[UUID], **_: object) -> None:
    """Evaluate runs that have just ended by the evaluators that have something to say of them.

    The cheap ones at once, the others in the background. Those that ask a model cost money, and
    run only where somebody asks for it. Runs together cost as many queries as one, but for what
    evaluators read of each.
    """
    runs = list(Run.objects.select_related("task").filter(pk__in=run_ids))
    at_once = [having_read(each, runs) for each in predefined_evaluators(immediate=True)]
    asked = [
        (evaluator, applying)
        for evaluator in at_once
        if (applying := [run for run in runs if evaluator.applies_to(run)])
    ]
    versions = _versions_of([evaluator for evaluator, _ in asked])
    current = Evaluation.objects.filter(run__in=run_ids, is_current=True)
    known = set(current.values_list("run", "evaluator"))
    rows = [
        evaluation_of(run, evaluator, version)
        for (evaluator, applying), version in zip(asked, versions, strict=True)
        for run in applying
        if (run.pk, version.pk) not in known
    ]
    Evaluation.objects.bulk_create(rows, ignore_conflicts=True)
    for each in predefined_evaluators(immediate=False):
        evaluator = having_read(each, runs)
        if applying := [run for run in runs if evaluator.applies_to(run)]:
            version_id = version_of(evaluator).pk
            for run in applying:
                transaction.on_commit(partial(_dispatch, evaluate_run, str(run.pk), version_id))


def _versions_of(evaluators: Sequence[Evaluator]) -> list[EvaluatorVersion]:
    """Their stored versions, in one query where all have been seen before."""
    hashes = [evaluator.identity.config_hash for evaluator in evaluators]
    stored = EvaluatorVersion.objects.in_bulk(hashes, field_name="config_hash")
    return [
        stored.get(config_hash) or version_of(evaluator)
        for config_hash, evaluator in zip(hashes, evaluators, strict=True)
    ]


@receiver(milestones_changed, dispatch_uid="judging.retire_progress")
@transaction.atomic
def retire_progress(*, task_id: int, **_: object) -> int:
    """Keep evaluations by former milestones as history; how many there were.

    What the steps alone show is found again in the background. What a model has to be asked for
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
        transaction.on_commit(partial(_dispatch, evaluate_task, task.pk, version.pk))
    return len(stale)


def _dispatch(task: CeleryTask[Any, Any], key: str | int, evaluator_id: int) -> None:
    # Runs and milestones stand whether or not they can be evaluated now: a broker that is down must
    # not undo an import, and the sweep finds what was missed.
    try:
        task.apply_async((key, evaluator_id), retry=False)
    except OperationalError as error:
        logger.warning("%s of %s waits: %s", task.name, key, error)
