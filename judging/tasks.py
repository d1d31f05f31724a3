"""Background tasks of judging: ids in, rows out."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from judging.analysis.milestone_proposals import (
    proposing as proposing,  # registers how milestones are proposed
)
from judging.analysis.miniwob.proposing_causes import proposals_wait
from judging.analysis.miniwob.proposing_causes import propose_causes as propose_waiting
from judging.evaluating.batches import carry_out
from judging.evaluating.evaluating import evaluate_runs, runs_without
from judging.evaluating.overlooked import evaluate_overlooked as look_for_overlooked
from judging.evaluating.overlooked import is_due as overlooked_are_due
from judging.evaluators.registry import evaluator_of
from judging.models import EvaluationBatch, EvaluatorVersion, LabelImport, StudyDownload
from judging.portability.label_imports.importing import carry_out as import_sent_labels
from judging.portability.label_imports.importing import sweep_label_imports
from judging.portability.study_report.downloads import carry_out as make_download
from judging.portability.study_report.downloads import sweep_downloads
from runs.models import Run, RunStatus
from runs.queue.asking import ask_for
from runs.queue.dispatching import dispatch
from runs.queue.holding import sweep_work
from runs.queue.sweep_tasks import swept

EVALUATE_OVERLOOKED = "judging.tasks.evaluate_overlooked"
PROPOSE_CAUSES = "judging.tasks.propose_causes"
EVALUATE_BATCH = "judging.tasks.evaluate_batch"
MAKE_STUDY_DOWNLOAD = "judging.tasks.make_study_download"
IMPORT_LABELS = "judging.tasks.import_labels"
AT_ONE_GO_S = 20
"""Other work of the queue waits no longer than this."""


@shared_task(time_limit=660)
def evaluate_run(run_id: str, evaluator_id: int) -> None:
    """Evaluate one run, unless it has been already."""
    version = EvaluatorVersion.objects.get(pk=evaluator_id)
    run = runs_without(version, Run.objects.filter(pk=UUID(run_id))).select_related("task")
    evaluate_runs(run, evaluator_of(version), version)


@shared_task(time_limit=3060)
def evaluate_task(task_id: int, evaluator_id: int) -> None:
    """Evaluate all ended runs of a task that the evaluator has not spoken of yet."""
    version = EvaluatorVersion.objects.get(pk=evaluator_id)
    ended = Run.objects.filter(task=task_id, status__in=RunStatus.ended(), n_steps__gt=0)
    evaluator = evaluator_of(version)
    for run_id in list(runs_without(version, ended).values_list("pk", flat=True)):
        one = runs_without(version, Run.objects.filter(pk=run_id)).select_related("task")
        evaluate_runs(one, evaluator, version)


@shared_task(name=EVALUATE_OVERLOOKED, time_limit=660)
def evaluate_overlooked() -> None:
    """Evaluate ended runs whose message was lost; the sweep asks again till all were looked at."""
    look_for_overlooked(limit_s=AT_ONE_GO_S)


@swept
def ask_for_overlooked() -> None:
    """Have ended runs looked at that nobody may have been told of."""
    if overlooked_are_due():
        ask_for(EVALUATE_OVERLOOKED)


@shared_task(name=PROPOSE_CAUSES, time_limit=660)
def propose_causes() -> None:
    """Look at failures that were drawn; the sweep asks again till none waits."""
    propose_waiting(limit_s=AT_ONE_GO_S)


@swept
def ask_for_proposals() -> None:
    """Have drawn failures looked at that wait for it."""
    if proposals_wait():
        ask_for(PROPOSE_CAUSES)


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


@shared_task(name=MAKE_STUDY_DOWNLOAD)
def make_study_download(download_id: str) -> None:
    """Make a study's report or bundle: a second delivery finds nothing to claim."""
    if make_download(UUID(download_id)):
        dispatch(StudyDownload, MAKE_STUDY_DOWNLOAD, most_again=1)


swept(sweep_downloads)


@swept
def dispatch_downloads() -> None:
    """Tell the workers of downloads that wait."""
    dispatch(StudyDownload, MAKE_STUDY_DOWNLOAD)


@shared_task(name=IMPORT_LABELS)
def import_labels(import_id: str) -> None:
    """Look at a sent file with labels, or store it: a second delivery finds nothing to claim."""
    if import_sent_labels(UUID(import_id)):
        dispatch(LabelImport, IMPORT_LABELS, most_again=1)


swept(sweep_label_imports)


@swept
def dispatch_label_imports() -> None:
    """Tell the workers of files with labels that wait."""
    dispatch(LabelImport, IMPORT_LABELS)
