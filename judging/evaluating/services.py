"""Having runs evaluated: when they end, and when somebody asks for it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from uuid import UUID

from django.db import transaction
from kombu.exceptions import OperationalError

from judging.evaluating.evaluating import evaluation_of, version_of
from judging.evaluating.tasks import evaluate_run
from judging.evaluators.contract import Evaluator, having_read
from judging.evaluators.registry import predefined_evaluators
from judging.models import Evaluation, EvaluatorVersion
from runs.models import Run

logger = logging.getLogger(__name__)


def evaluate_ended_runs(*, run_ids: Sequence[UUID]) -> None:
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
    said = Evaluation.objects.filter(run__in=run_ids, is_current=True)
    known = set(said.values_list("run", "evaluator"))
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
                transaction.on_commit(partial(_dispatch_run, str(run.pk), version_id))


def _versions_of(evaluators: Sequence[Evaluator]) -> list[EvaluatorVersion]:
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
