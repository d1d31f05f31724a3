"""Background tasks of judging: ids in, rows out."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from judging.evaluators.registry import evaluator_of
from judging.execution.evaluating import (
    BATCH,
    evaluate_runs,
    evaluate_study,
    runs_of,
    runs_without,
)
from judging.models import EvaluatorVersion, Study
from runs.models import Run


@shared_task(soft_time_limit=600, time_limit=660)
def evaluate_run(run_id: str, evaluator_id: int) -> None:
    """Evaluate one run, unless it has been already."""
    version = EvaluatorVersion.objects.get(pk=evaluator_id)
    run = runs_without(version, Run.objects.filter(pk=UUID(run_id))).select_related("task")
    evaluate_runs(run, evaluator_of(version), version)


@shared_task(soft_time_limit=600, time_limit=660)
def evaluate_next_of_study(study_id: int, evaluator_id: int) -> None:
    """Evaluate the next batch of a study and ask for the one after, until none is left."""
    study = Study.objects.get(pk=study_id)
    version = EvaluatorVersion.objects.get(pk=evaluator_id)
    for _tally in evaluate_study(study=study, evaluator=evaluator_of(version), limit=BATCH):
        pass
    if runs_without(version, runs_of(study)).exists():
        evaluate_next_of_study.delay(study_id, evaluator_id)
