"""News that goes up from this app."""

import logging
from typing import Any
from uuid import UUID

from django.dispatch import Signal

logger = logging.getLogger(__name__)

run_ended = Signal()
"""A run has ended or was imported. Sent after commit with `run_id: UUID`."""

milestones_changed = Signal()
"""The milestones of a task have changed. Sent after commit with `task_id: int`."""


def announce_end(sender: type, run_id: UUID) -> None:
    """Send `run_ended`; a receiver that fails is logged and keeps none of the others from it."""
    _log(f"run {run_id}", run_ended.send_robust(sender=sender, run_id=run_id))


def announce_milestones(sender: type, task_id: int) -> None:
    """Send `milestones_changed`, likewise."""
    _log(f"task {task_id}", milestones_changed.send_robust(sender=sender, task_id=task_id))


def _log(about: str, answers: list[tuple[Any, Any]]) -> None:
    for receiver, result in answers:
        if isinstance(result, Exception):
            logger.error("%r failed for %s: %s", receiver, about, result, exc_info=result)
