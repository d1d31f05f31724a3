"""What judging does when something happens to a run."""

from uuid import UUID

from django.dispatch import receiver

from judging.services.evaluating import evaluate_ended_run
from runs.signals import run_ended


@receiver(run_ended, dispatch_uid="judging.evaluate_ended_run")
def on_run_ended(sender: object, run_id: UUID, **_: object) -> None:
    """Evaluate it."""
    evaluate_ended_run(run_id=run_id)
