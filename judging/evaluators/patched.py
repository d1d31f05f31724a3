"""A matcher on the newest version of each task, instead of the one that the run names."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from enum import StrEnum

from judging.evaluators.contract import Evaluator, Finding
from judging.evaluators.matchers import MatcherEvaluator
from judging.evaluators.matching.outcome import EvaluatorIdentity
from judging.evaluators.matching.pipeline import build_matcher
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


@dataclass(frozen=True, slots=True)
class OnPatchedTasks:
    """Another evaluator than the same matcher on the tasks as recorded; the name is kept."""

    evaluator: Evaluator

    @property
    def identity(self) -> EvaluatorIdentity:
        own = self.evaluator.identity
        return replace(own, config={**own.config, "tasks": TaskVersion.PATCHED.value})

    def applies_to(self, run: Run) -> bool:
        return self.evaluator.applies_to(run)

    def evaluate(self, run: Run) -> Finding:
        return self.evaluate_on(run, judged_task(run, TaskVersion.PATCHED))

    def evaluate_on(self, run: Run, task: Task) -> Finding:
        """The finding on the run, given the newest version of its task."""
        if task.infeasible_reason:
            return Finding.infeasible(task)
        return replace(self.evaluator.evaluate(with_task(run, task)), task=task)


def make_matcher(name: str, /, **config: object) -> Evaluator:
    """The matcher of that name and configuration; `tasks` patched reads patched tasks.

    Raises:
        ValueError: a setting or its value is unknown.
    """
    settings: Mapping[str, object] = {key: config[key] for key in config if key != "tasks"}
    evaluator = MatcherEvaluator(build_matcher(name, settings))
    tasks = TaskVersion(str(config.get("tasks", TaskVersion.RECORDED)))
    return evaluator if tasks is TaskVersion.RECORDED else OnPatchedTasks(evaluator)
