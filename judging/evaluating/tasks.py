"""What brings evaluations about: ended runs, tasks of workers, and the walk through missed runs.

The walk goes through the runs that came or ended lately, in the order they came, resumed where
it stopped and started again now and then. What it finds missing is evaluated on the spot, so
that nothing more can be lost on the way. Runs of longer ago are left out, or each walk would
read all there are.
"""

import logging
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from celery import Task as CeleryTask
from celery import shared_task
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.dispatch import receiver
from django.utils import timezone
from kombu.exceptions import OperationalError

from judging.evaluating.evaluating import (
    carry_out,
    evaluate_runs,
    evaluation_of,
    runs_without,
    version_of,
)
from judging.evaluators.contract import Evaluator, having_read
from judging.evaluators.milestones import PROGRESS_EVALUATORS, MechanicalMilestones
from judging.evaluators.registry import evaluator_of, predefined_evaluators
from judging.models import Evaluation, EvaluationBatch, EvaluationPatrol, EvaluatorVersion
from runs.catalogue.milestones.definitions import digest_of_task
from runs.models import Run, RunStatus, Task
from runs.models.hooks import milestones_changed, runs_ended
from runs.queue.leases import sweep_work
from runs.queue.sweeping import swept
from runs.queue.workers import ask_for, dispatch

logger = logging.getLogger(__name__)

LOOKS_BACK = timedelta(days=7)
"""What came and ended earlier has been looked at many times; evaluators that are newer than it are
asked for."""
GRACE = timedelta(minutes=10)
"""Till then the message is thought to be on its way."""
AGAIN_AFTER = timedelta(minutes=10)
AT_A_TIME = 100
ONLY = 1


def is_walk_due() -> bool:
    """Whether a walk is under way, or it is time for the next one."""
    patrol = EvaluationPatrol.objects.filter(pk=ONLY).first()
    if patrol is None or patrol.came_to:
        return True
    return patrol.begun_at + AGAIN_AFTER <= timezone.now()


def evaluate_missing_runs(*, limit_s: float) -> int:
    """Go on with the walk till it is over or the time is; how many evaluations were missing.

    Several may do it at a time: a run keeps the evaluation that came first.
    """
    ends, made = time.monotonic() + limit_s, 0
    evaluators = [(each, version_of(each)) for each in predefined_evaluators()]
    under_way = EvaluationPatrol.objects.filter(pk=ONLY, came_to__isnull=False).first()
    patrol = under_way or EvaluationPatrol(pk=ONLY, begun_at=timezone.now())
    while time.monotonic() < ends:
        runs = _next_runs(patrol)
        made += _evaluate_missing(runs, evaluators)
        last = runs[-1] if runs else None
        patrol.came_to_at, patrol.came_to = (last.created_at, last.pk) if last else (None, None)
        patrol.save()
        if last is None:
            break
    if made:
        logger.warning("%d evaluations of ended runs were missing and are made up for.", made)
    return made


def _next_runs(patrol: EvaluationPatrol) -> list[Run]:
    """The next of those that came long ago and ended lately; after them, of the newer ones."""
    now, since = timezone.now(), patrol.begun_at - LOOKS_BACK
    came_lately: QuerySet[Any] = (
        Run.objects.alias(came=F("created_at"))
        .filter(status__in=RunStatus.ended(), came__gte=since, came__lt=now - GRACE)
        .exclude(ended_at__gt=now - GRACE)
    )
    for runs in (ended_late(since, now - GRACE), came_lately):
        if patrol.came_to:
            runs = runs.filter(
                Q(came__gt=patrol.came_to_at) | Q(pk__gt=patrol.came_to),
                came__gte=patrol.came_to_at,
            )
        if found := list(runs.select_related("task").order_by("came", "pk")[:AT_A_TIME]):
            return found
    return []


def ended_late(since: datetime, until: datetime) -> QuerySet[Any]:
    """Runs that ended between the two and came before, such as those that waited for long.

    Asked so that they are found by when they ended: everybody's runs, person by person, and in
    words for which there is no other index.
    """
    everybody = list(get_user_model().objects.values_list("pk", flat=True))
    return Run.objects.alias(came=Coalesce("created_at", "created_at")).filter(
        Q(created_by__in=everybody) | Q(created_by=None),
        ~Q(status__in=RunStatus.active()),
        came__lt=since,
        ended_at__gte=since,
        ended_at__lt=until,
    )


def _evaluate_missing(
    runs: Sequence[Run], evaluators: Sequence[tuple[Evaluator, EvaluatorVersion]]
) -> int:
    made = 0
    evaluated = set(
        Evaluation.objects.filter(run__in=[run.pk for run in runs], is_current=True).values_list(
            "run", "evaluator"
        )
    )
    for evaluator, version in evaluators:
        missing = [run for run in runs if (run.pk, version.pk) not in evaluated]
        if missing := [run for run in missing if evaluator.applies_to(run)]:
            made += evaluate_runs(missing, evaluator, version).total()
    return made


EVALUATE_OVERLOOKED = "judging.tasks.evaluate_overlooked"
EVALUATE_BATCH = "judging.tasks.evaluate_batch"
AT_ONE_GO_S = 20
"""Other work of the queue waits no longer than this."""


@shared_task(name="judging.tasks.evaluate_run", time_limit=660)
def evaluate_run(run_id: str, evaluator_id: int) -> None:
    """Evaluate one run, unless it has been already."""
    version = EvaluatorVersion.objects.get(pk=evaluator_id)
    run = runs_without(version, Run.objects.filter(pk=UUID(run_id))).select_related("task")
    evaluate_runs(run, evaluator_of(version), version)


@shared_task(name="judging.tasks.evaluate_task", time_limit=3060)
def evaluate_task(task_id: int, evaluator_id: int) -> None:
    """Evaluate all ended runs of a task that the evaluator has not evaluated yet."""
    version = EvaluatorVersion.objects.get(pk=evaluator_id)
    ended = Run.objects.judgeable().filter(task=task_id)
    evaluator = evaluator_of(version)
    for run_id in list(runs_without(version, ended).values_list("pk", flat=True)):
        one = runs_without(version, Run.objects.filter(pk=run_id)).select_related("task")
        evaluate_runs(one, evaluator, version)


@shared_task(name=EVALUATE_OVERLOOKED, time_limit=660)
def evaluate_overlooked() -> None:
    """Evaluate ended runs whose message was lost; the sweep asks again till all were looked at."""
    evaluate_missing_runs(limit_s=AT_ONE_GO_S)


@swept
def ask_for_overlooked() -> None:
    """Evaluate ended runs that no worker was notified of."""
    if is_walk_due():
        ask_for(EVALUATE_OVERLOOKED)


@shared_task(name=EVALUATE_BATCH)
def evaluate_batch(batch_id: str) -> None:
    """Work on the batch unless another worker does: a second delivery finds nothing to claim.

    The worker that is free now asks for others, such as those that waited for the same model.
    """
    if carry_out(UUID(batch_id)):
        dispatch_batches()
    else:
        EvaluationBatch.objects.undispatch([UUID(batch_id)])


@swept
def sweep_batches() -> None:
    """End batches that no worker will end."""
    sweep_work(EvaluationBatch)


@swept
def dispatch_batches() -> None:
    """Tell the workers of batches that wait."""
    dispatch(EvaluationBatch, EVALUATE_BATCH)


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
