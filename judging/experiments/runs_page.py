"""The runs behind a number, as a list shows them."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from judging.experiments.asked import Asked
from judging.experiments.selection import Selection


def listed_runs(asked: Asked, selection: Selection) -> QuerySet[Any]:
    """The runs of the selection by task, configuration and trial, with all that a row shows."""
    runs: Any = selection.runs(asked.scope)
    listed: QuerySet[Any] = runs.for_list().order_by(
        "task__task_set__name", "task__external_id", "agent", "trial", "seed", "pk"
    )
    return listed
