"""Runs that ended without their evaluations: the message was lost, or who would have sent it died.

A walk through the runs that came or ended lately, in the order they came, resumed where it stopped
and started again now and then. What it finds missing is evaluated on the spot, so that nothing more
can be lost on the way. Runs of longer ago are left out, or each walk would read all there are.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from judging.evaluating.evaluating import evaluate_runs, version_of
from judging.evaluators.contract import Evaluator
from judging.evaluators.registry import predefined_evaluators
from judging.models import Evaluation, EvaluationPatrol, EvaluatorVersion
from runs.models import Run, RunStatus

logger = logging.getLogger(__name__)

LOOKS_BACK = timedelta(days=7)
"""What came and ended earlier has been looked at many times; evaluators that are newer than it are
asked for."""
GRACE = timedelta(minutes=10)
"""Till then the message is thought to be on its way."""
AGAIN_AFTER = timedelta(minutes=10)
AT_A_TIME = 100
ONLY = 1


def is_due() -> bool:
    """Whether a walk is under way, or it is time for the next one."""
    patrol = EvaluationPatrol.objects.filter(pk=ONLY).first()
    if patrol is None or patrol.came_to:
        return True
    return patrol.begun_at + AGAIN_AFTER <= timezone.now()


def evaluate_overlooked(*, limit_s: float) -> int:
    """Go on with the walk till it is over or the time is; how many evaluations were missing.

    Several may do it at a time: a run keeps the evaluation that came first.
    """
    ends, made = time.monotonic() + limit_s, 0
    evaluators = [(each, version_of(each)) for each in predefined_evaluators()]
    patrol = _patrol()
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


def _patrol() -> EvaluationPatrol:
    """The walk under way, or a new one."""
    patrol = EvaluationPatrol.objects.filter(pk=ONLY, came_to__isnull=False).first()
    return patrol or EvaluationPatrol(pk=ONLY, begun_at=timezone.now())


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
            made += evaluate_runs(missing, evaluator, version).made
    return made
