"""Which version of a run's task is judged: the recorded one, or the newest patched one."""

from __future__ import annotations

from copy import copy
from enum import StrEnum

from runs.models import Run, Task


class TaskVersion(StrEnum):
    """Whose reference answers an evaluator reads."""

    RECORDED = "recorded"
    """The task as the run names it."""
    PATCHED = "patched"
    """The task of the same name in the newest version made from the run's set."""


def judged_task(run: Run, version: TaskVersion) -> Task:
    """The task of that version; the run's own where its set was never patched."""
    if version is TaskVersion.RECORDED:
        return run.task
    return Task.objects.newest_versions([run.task_id]).get(run.task_id, run.task)


def with_task(run: Run, task: Task) -> Run:
    """The run as if it had been given that task; for reading only, never saved."""
    if task.pk == run.task_id:
        return run
    judged = copy(run)  # a model's copy remembers its relations for itself
    judged.task = task
    return judged
