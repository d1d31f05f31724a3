"""What judging does when something happens to a run or a task."""

from collections.abc import Sequence
from uuid import UUID

from django.dispatch import receiver

from judging.evaluating.services import evaluate_ended_runs
from judging.evaluating.stale_progress import retire_progress
from runs.signals import milestones_changed, runs_ended


@receiver(runs_ended, dispatch_uid="judging.evaluate_ended_runs")
def on_runs_ended(sender: object, run_ids: Sequence[UUID], **_: object) -> None:
    """Evaluate them."""
    evaluate_ended_runs(run_ids=run_ids)


@receiver(milestones_changed, dispatch_uid="judging.retire_progress")
def on_milestones_changed(sender: object, task_id: int, **_: object) -> None:
    """Progress by the former milestones no longer counts."""
    retire_progress(task_id=task_id)
