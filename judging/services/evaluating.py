"""Having runs evaluated: when they end, and when somebody asks for it."""

from __future__ import annotations

import logging
from functools import partial
from uuid import UUID

from django.db import transaction
from kombu.exceptions import OperationalError

from judging.evaluators.contract import Evaluator
from judging.evaluators.registry import predefined_evaluators
from judging.execution.evaluating import evaluation_of, version_of
from judging.models import Evaluation, EvaluatorVersion
from judging.tasks import evaluate_run
from runs.models import Run

logger = logging.getLogger(__name__)


def evaluate_ended_run(*, run_id: UUID) -> None:
    """Evaluate a run that has just ended by the evaluators that have something to say of it.

    The cheap ones at once, the others in the background. Those that ask a model cost money, and
    run only where somebody asks for it.
    """
    run = Run.objects.select_related("task").get(pk=run_id)
    applying = [each for each in predefined_evaluators(immediate=True) if each.applies_to(run)]
    versions = _versions_of(applying)
    said = Evaluation.objects.filter(run=run, is_current=True)
    known = set(said.values_list("evaluator", flat=True))
    rows = [
        evaluation_of(run, evaluator, version)
        for evaluator, version in zip(applying, versions, strict=True)
        if version.pk not in known
    ]
    Evaluation.objects.bulk_create(rows, ignore_conflicts=True)
    for evaluator in predefined_evaluators(immediate=False):
        if evaluator.applies_to(run):
            version_id = version_of(evaluator).pk
            transaction.on_commit(partial(_dispatch_run, str(run_id), version_id))


def _versions_of(evaluators: list[Evaluator]) -> list[EvaluatorVersion]:
    """Their stored versions, in one query where all have been seen before."""
    hashes = [evaluator.identity.config_hash for evaluator in evaluators]
    stored = EvaluatorVersion.objects.in_bulk(hashes, field_name="config_hash")
    return [
        stored.get(config_hash) or version_of(evaluator)
        for config_hash, evaluator in zip(hashes, evaluators, strict=True)
    ]


def _dispatch_run(run_id: str, evaluator_id: int) -> None:
    # The run stands whether or not it can be evaluated now: a broker that is down must not
    # undo an import, and the sweep finds what was missed.
    try:
        evaluate_run.apply_async((run_id, evaluator_id), retry=False)
    except OperationalError as error:
        logger.warning("Run %s waits for its evaluation: %s", run_id, error)
