"""What the runs of a study rest on, as lines: task sets, tasks, milestones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeVar

from django.db import models
from django.db.models import QuerySet

from judging.models import Evaluation
from judging.portability.study_bundles.records import (
    Line,
    MilestoneLine,
    RevisionPart,
    RunRef,
    TaskLine,
    TaskRef,
    TaskSetLine,
)
from runs.models import Milestone, Run, Task, TaskSet, User

L = TypeVar("L", bound=Line)

AT_ONCE = 200
RUN_PARTS = ("record", "evidence", "goal", "final_answer")
"""Large columns of runs that no line here needs."""


def as_line(kind: type[L], row: models.Model, **given: Any) -> L:
    """The line with what is given, and all its other fields from the row's columns."""
    named = {name: getattr(row, name) for name in kind.model_fields if name not in given}
    return kind(**named, **given)


def name_of(user: User | None) -> str | None:
    """How the file names a person."""
    return user.username if user else None


def place_in(numbers: Mapping[int, int], row: Any) -> dict[str, Any]:
    """Which of the numbered words on one run these are, whose, and which they replace."""
    return {
        "number": numbers[row.pk],
        "by": row.by.username,
        "replaces": numbers.get(row.replaces_id) if row.replaces_id else None,
    }


FIELD = re.compile(r"^milestone_(\w+?)(_step|_lost_step)?$")
"""A field of a label's form that speaks of a milestone; see `judging.studies.labels.ticks`."""
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


class TaskLines:
    """Tasks of some runs, those that evaluators judged by, and what they were before patches."""

    def __init__(self, run_ids: QuerySet[Run, Any]) -> None:
        self._run_ids = run_ids

    def sets(self) -> Iterator[TaskSetLine]:
        """The sets of the tasks, and those that patches made them from."""
        sets: dict[int, TaskSet] = {}
        for task in self._tasks:
            each: TaskSet | None = task.task_set
            while each is not None and each.pk not in sets:
                sets[each.pk] = each
                each = each.parent
        for row in sorted(sets.values(), key=lambda one: (one.name, one.version)):
            yield as_line(TaskSetLine, row, parent=row.parent.version if row.parent else None)

    def tasks(self) -> Iterator[TaskLine]:
        """One line a task."""
        return map(task_line, self._tasks)

    def milestones(self) -> Iterator[MilestoneLine]:
        """One line a milestone, those that were removed too."""
        for key, row in self._milestone_rows():
            yield as_line(
                MilestoneLine,
                row,
                key=key,
                task=task_ref(row.task),
                added_by=name_of(row.added_by),
            )

    def milestone_key(self, pk: int | str) -> str | None:
        """How the file names a milestone; None for one of another task."""
        return self._milestone_keys.get(int(pk)) if str(pk).isdecimal() else None

    @cached_property
    def _milestone_keys(self) -> dict[int, str]:
        return {row.pk: key for key, row in self._milestone_rows()}

    @cached_property
    def _tasks(self) -> list[Task]:
        # Two questions by index: as one, it goes through the evaluations of all runs there are.
        of_runs = Run.objects.filter(pk__in=self._run_ids).order_by()
        judged = Evaluation.objects.filter(run__in=self._run_ids).exclude(task=None).order_by()
        missing = set(of_runs.values_list("task", flat=True).distinct())
        missing |= set(judged.values_list("task", flat=True).distinct())
        found: dict[int, Task] = {}
        while missing:
            more = {task.pk: task for task in _rows().filter(pk__in=missing)}
            found |= more
            missing = {task.original_id for task in more.values() if task.original_id} - set(found)
        return sorted(found.values(), key=_place)

    def _milestone_rows(self) -> Iterator[tuple[str, Milestone]]:
        rows = Milestone.objects.filter(task__in=[task.pk for task in self._tasks])
        ordered = rows.select_related("task__task_set", "added_by").order_by(
            "task__task_set__name",
            "task__task_set__version",
            "task__external_id",
            "position",
            "added_at",
            "name",
        )
        for number, row in enumerate(ordered, start=1):
            yield f"m{number}", row


def task_line(task: Task) -> TaskLine:
    """One task as it is here, with what a patch changed in it."""
    revision = getattr(task, "revision", None)
    return as_line(
        TaskLine,
        task,
        task=task_ref(task),
        original=task_ref(task.original) if task.original else None,
        revision=as_line(RevisionPart, revision) if revision else None,
    )


def _rows() -> QuerySet[Task]:
    return Task.objects.select_related("task_set__parent", "original__task_set", "revision")


def _place(task: Task) -> tuple[str, str, str]:
    return task.task_set.name, task.task_set.version, task.external_id
