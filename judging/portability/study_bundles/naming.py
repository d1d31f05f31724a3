"""Keys of rows, which differ from one installation to the next, as names that do not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from judging.portability.study_bundles.records import RunRef, TaskRef
from runs.models import Run, Task

FIELD = re.compile(r"^milestone_(\w+?)(_step|_lost_step)?$")
"""A field of a label's form that speaks of a milestone; see `judging.studies.labels.judgement`."""
GUIDELINE = "guideline"


def run_ref(run: Run) -> RunRef:
    """How the file names a run."""
    return RunRef(id=run.pk, content_hash=run.content_hash)


def task_ref(task: Task) -> TaskRef:
    """How the file names a task; reads its set."""
    return TaskRef(task_set=task.task_set.name, version=task.task_set.version, id=task.external_id)


def renamed_fields(
    content: Mapping[str, Any],
    milestone: Callable[[str], str | None],
    guideline: Callable[[Any], Any],
) -> dict[str, Any]:
    """What a form or a label's history holds, with other names for milestones and guidelines.

    A milestone that is not known keeps the name that it has.
    """
    renamed: dict[str, Any] = {}
    for name, value in content.items():
        found = FIELD.match(name)
        key = milestone(found[1]) if found else None
        if found and key is not None:
            renamed[f"milestone_{key}{found[2] or ''}"] = value
        else:
            renamed[name] = guideline(value) if name == GUIDELINE else value
    return renamed
