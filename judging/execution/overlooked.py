"""Runs that ended without their evaluations: the message was lost, or who would have sent it died.

A walk through the newest runs, resumed where it stopped and begun anew now and then. What it finds
missing is evaluated on the spot, so that nothing more can be lost on the way.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from judging.evaluators.contract import Evaluator
from judging.evaluators.registry import predefined_evaluators
from judging.execution.evaluating import evaluate_runs, version_of
from judging.models import Evaluation, EvaluationPatrol, EvaluatorVersion
from runs.models import Run, RunStatus

logger = logging.getLogger(__name__)

LOOKS_BACK = timedelta(days=7)
"""Older runs have been looked at many times; evaluators that are newer than they are asked for."""
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
    now = timezone.now()
    since = patrol.came_to_at or now - LOOKS_BACK
    ended = Run.objects.filter(
        status__in=RunStatus.ended(), created_at__gte=since, created_at__lt=now - GRACE
    ).exclude(ended_at__gt=now - GRACE)
    if patrol.came_to:
        ended = ended.filter(Q(created_at__gt=since) | Q(pk__gt=patrol.came_to))
    return list(ended.select_related("task").order_by("created_at", "pk")[:AT_A_TIME])


def _evaluate_missing(
    runs: Sequence[Run], evaluators: Sequence[tuple[Evaluator, EvaluatorVersion]]
) -> int:
    made = 0
    said = set(
        Evaluation.objects.filter(run__in=[run.pk for run in runs], is_current=True).values_list(
            "run", "evaluator"
        )
    )
    for evaluator, version in evaluators:
        unsaid = [run for run in runs if (run.pk, version.pk) not in said]
        if missing := [run for run in unsaid if evaluator.applies_to(run)]:
            made += evaluate_runs(missing, evaluator, version).made
    return made
