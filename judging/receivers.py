"""What judging does when something happens to a run or a task."""

from uuid import UUID

from django.dispatch import receiver

from judging.services.evaluating import evaluate_ended_run
from judging.services.stale_progress import retire_progress
from runs.signals import milestones_changed, run_ended


@receiver(run_ended, dispatch_uid="judging.evaluate_ended_run")
def on_run_ended(sender: object, run_id: UUID, **_: object) -> None:
    """Evaluate it."""
    evaluate_ended_run(run_id=run_id)


@receiver(milestones_changed, dispatch_uid="judging.retire_progress")
def on_milestones_changed(sender: object, task_id: int, **_: object) -> None:
    """Progress by the former milestones no longer counts."""
    retire_progress(task_id=task_id)
