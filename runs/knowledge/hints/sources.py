"""Stored runs as sources of hints, and tasks as sources are chosen by."""

from __future__ import annotations

from django.conf import settings

from runs.models import Run, Step, Task
from runs.models.task_queries import task_key
from webagent.knowledge.hint_source import SourceRun
from webagent.knowledge.relatedness import DescribedTask
from webagent.knowledge.run_log import log_of
from webagent.placeholders import resolve_text


def source_run(run: Run) -> SourceRun:
    """The run as those who write hints from it see it: steps that were taken back left out."""
    steps = run.steps.filter(state=Step.State.LIVE).order_by("index")
    records = [step.to_record() for step in steps]
    task = run.task
    goal = resolve_text(run.goal or task.goal, settings.SITE_HOSTS)
    log = log_of(str(run.pk), key_of(task), goal, records, site=task.site)
    return SourceRun(log, task.intent_template)


def described(task: Task) -> DescribedTask:
    """The task as sources are chosen by."""
    return DescribedTask(key_of(task), frozenset(task.sites or [task.site]), text_of(task))


def key_of(task: Task) -> str:
    """The same for all versions of a task, another one for every other task."""
    name = task.task_set.name
    return f"{name} {task_key(name, task.external_id)}"


def text_of(task: Task) -> str:
    """What relatedness goes by: the goal, or the words of the id where only runs have goals."""
    if task.goal.strip():
        return task.goal
    name = task_key(task.task_set.name, task.external_id)
    return " ".join(name.replace("-", " ").replace("_", " ").split())
