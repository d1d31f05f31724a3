"""News that goes up from this app."""

import logging
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.dispatch import Signal

logger = logging.getLogger(__name__)

runs_ended = Signal()
"""Runs have ended or were imported. Sent after commit with `run_ids: Sequence[UUID]`, once for
some that come together. It may come again for the same runs: twice is to be as good as once."""

milestones_changed = Signal()
"""The milestones of a task have changed. Sent after commit with `task_id: int`."""


def announce_ends(sender: type, run_ids: Sequence[UUID]) -> None:
    """Send `runs_ended`; a receiver that fails is logged and keeps none of the others from it.

    Where one fails over several runs, each is sent again by itself: what breaks over one of them
    does not take the others with it.
    """
    answers = runs_ended.send_robust(sender=sender, run_ids=run_ids)
    failed = any(isinstance(result, Exception) for _, result in answers)
    if failed and len(run_ids) > 1:
        for run_id in run_ids:
            announce_ends(sender, [run_id])
        return
    _log(f"runs {', '.join(map(str, run_ids))}", answers)


def announce_milestones(sender: type, task_id: int) -> None:
    """Send `milestones_changed`, likewise."""
    _log(f"task {task_id}", milestones_changed.send_robust(sender=sender, task_id=task_id))


def _log(about: str, answers: list[tuple[Any, Any]]) -> None:
    for receiver, result in answers:
        if isinstance(result, Exception):
            logger.error("%r failed for %s: %s", receiver, about, result, exc_info=result)
