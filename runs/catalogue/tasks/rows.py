"""Rows of tasks from their records, and back."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction

from runs.models import Task, TaskSet
from runs.storage.records import MAX_INT, goal_text, stored_json
from webagent.trajectory.records import TaskRecord, TaskSetRecord, TextPart
from webagent.trajectory.texts import bounded_name

FILLED_LATER = (
    "spec",
    "evaluation_kind",
    "reference",
    "infeasible_reason",
    "max_steps",
    "goal",
    "intent_template",
    "template",
)
"""Columns that an import fills where an earlier one knew nothing."""


def store_task(record: TaskRecord) -> Task:
    """The row of this task, by task set and name in it; made if it is new.

    A task that is here stays as it is, but what was unknown of it is filled in.
    """
    name, version = record.task_set.name, record.task_set.version
    task_set, _ = TaskSet.objects.get_or_create(name=name, version=version)
    columns = task_columns(record)
    in_set = {"task_set": task_set.pk, "external_id": record.external_id}
    task = Task.objects.filter(**in_set).first()
    if task is None:
        try:
            with transaction.atomic():
                own = stored_json(record)
                return Task.objects.create(
                    task_set=task_set, external_id=record.external_id, record=own, **columns
                )
        except IntegrityError:  # another import was first
            task = Task.objects.get(**in_set)
    news = [name for name in FILLED_LATER if columns[name] and not getattr(task, name)]
    for name in news:
        setattr(task, name, columns[name])
    if news:
        task.save(update_fields=news)
    return task


def differs(task: Task, record: TaskRecord) -> bool:
    """Whether the row's own record says something else of the task than this one."""
    return _without_id(task_record(task)) != _without_id(record)


def task_record(task: Task) -> TaskRecord:
    """The task as it came in, or, if it was made here, as its columns have it."""
    if task.record:
        return TaskRecord.model_validate(task.record)
    return TaskRecord(
        id=bounded_name(f"{task.task_set.name}/{task.task_set.version}/{task.external_id}"),
        task_set=TaskSetRecord(name=task.task_set.name, version=task.task_set.version),
        external_id=task.external_id,
        sites=tuple(task.sites or ([task.site] if task.site else ())),
        goal=(TextPart(text=task.goal),) if task.goal else (),
        start_urls=tuple(task.start_urls),
        intent_template=task.intent_template or None,
        eval=task.spec,
        reference=task.reference,
        max_steps=task.max_steps,
        infeasible_reason=task.infeasible_reason or None,
    )


def task_columns(record: TaskRecord) -> dict[str, Any]:
    """The columns of `Task` that follow from its record."""
    max_steps = record.max_steps
    stored = stored_json(record)
    return {
        "site": record.sites[0][:200] if record.sites else "",
        "sites": list(record.sites),
        "goal": goal_text(record.goal),
        "start_urls": list(record.start_urls),
        "intent_template": record.intent_template or "",
        "template": str((record.extra or {}).get("intent_template_id", ""))[:200],
        "spec": stored.get("eval"),
        "evaluation_kind": evaluation_kind(stored.get("eval")),
        "reference": stored.get("reference"),
        "max_steps": max_steps if max_steps and 0 < max_steps <= MAX_INT else None,
        "infeasible_reason": record.infeasible_reason or "",
    }


def task_content(task: Task) -> dict[str, Any]:
    """The part of a task that patches may change."""
    return {
        "goal": task.goal,
        "sites": list(task.sites),
        "start_urls": list(task.start_urls),
        "spec": task.spec,
        "reference": task.reference,
        "infeasible_reason": task.infeasible_reason,
    }


def evaluation_kind(spec: object) -> str:
    """Names of the evaluations that a specification asks for, each once, joined by +.

    WebArena's `eval_types`, or the evaluators of WebArena-Verified; "" for other benchmarks'.
    """
    if not isinstance(spec, dict):
        return ""
    named = spec.get("eval_types")
    if isinstance(evaluators := spec.get("evaluators"), list):
        named = [each.get("evaluator") for each in evaluators if isinstance(each, dict)]
    if not isinstance(named, list):
        return ""
    return "+".join(dict.fromkeys(str(name) for name in named if name))[:200]


def _without_id(record: TaskRecord) -> dict[str, Any]:
    stored = stored_json(record)
    del stored["id"]
    return stored
