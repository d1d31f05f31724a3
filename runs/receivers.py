"""What this app itself does with its own news."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.dispatch import receiver

from runs.launching.carrying_out.anomalies import mark_anomalies
from runs.operations.retention.services import apply_retention
from runs.operations.space.measuring import after_measurement
from runs.signals import runs_ended

after_measurement(apply_retention)


@receiver(runs_ended)
def look_for_anomalies(sender: object, run_ids: Sequence[UUID], **kwargs: Any) -> None:
    """Every run that has ended is looked at once."""
    mark_anomalies(run_ids=run_ids)
