"""What this app itself does with its own news."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.dispatch import receiver

from runs.services.anomalies import mark_anomalies
from runs.services.retention import apply_retention
from runs.signals import run_ended
from runs.tasks import after_measurement

after_measurement(apply_retention)


@receiver(run_ended)
def look_for_anomalies(sender: object, run_id: UUID, **kwargs: Any) -> None:
    """Every run that has ended is looked at once."""
    mark_anomalies(run_id=run_id)
