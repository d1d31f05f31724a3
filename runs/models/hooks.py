"""What passes between this app and the one above: news by signals, answers by one object.

Models ask the object here, without its type, which names them (`runs.models.extension`).
"""

import logging
from collections.abc import Sequence
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.dispatch import Signal

logger = logging.getLogger(__name__)


class LinkedPage(StrEnum):
    """Pages of the app above to which pages of runs link, by the names of its addresses."""

    HOME = "home"
    PALETTE = "palette"
    LOAD_DEMO = "demo_load"
    API_REFERENCE = "api_reference"
    STUDIES = "study_list"
    NEW_STUDY = "study_create"
    AUDITS = "audit_home"
    EVALUATE_RUNS = "runs_evaluate"
    RUN_JUDGEMENTS = "run_judgements"
    """Of the run with this id."""
    REPLICATIONS = "replication_list"
    EXPERIMENT = "experiment_detail"
    """The figures of the experiment with this id."""
    HINT_REPORT = "hint_report"
    """What hints changed in the experiment with this id."""
    WRITE_HINTS = "hint_write"
    IMPORT_LABELS = "label_import_list"
    MILESTONE_PROPOSALS = "milestone_proposals"
    """For the task with this id."""


above: list[Any] = []


def registered() -> Any:
    """The `runs.models.extension.Extension` of the app above.

    Raises:
        LookupError: none was registered.
    """
    if not above:
        raise LookupError("nothing is registered that knows studies, labels and evaluators")
    return above[0]


def address_above(page: LinkedPage, *args: object) -> str:
    """The address of a page of the app above."""
    return str(registered().address(page, args))


def is_offered(user: Any, page: LinkedPage) -> bool:
    """Whether the person may open that page of the app above."""
    return bool(registered().may_open(user, page))


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
