"""Launching the experiment that compares hints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from django.db import transaction

from runs.catalogue.agents.runnable import task_name
from runs.catalogue.tasks.rows import store_task
from runs.launching.experiments.services import Launched, launch_experiment
from runs.launching.hint_experiments.plans import HintPlan, Picked, hinted
from runs.models import Experiment, HintChoice, HintSet, LearningJob, Task, User
from webagent.environment.registry import task_record
from webagent.knowledge.relevance import METHOD


@transaction.atomic
def launch_hint_experiment(*, plan: HintPlan, token: UUID, user: User | None) -> Launched:
    """Queue a baseline and one configuration for each condition; the same token does it once.

    Raises:
        PlanError: it cannot run here, its name is taken, or a site is not ready.
    """
    if there := Experiment.objects.filter(token=token).first():
        return Launched(there, is_new=False)
    tasks = tuple(_stored(task) for task in plan.plan.tasks)
    for picked in plan.conditions:
        _store_set(picked, tasks, plan.job)
    agents = (plan.base, *(hinted(plan.base, picked.key) for picked in plan.conditions))
    return launch_experiment(
        plan=replace(plan.plan, tasks=tasks, agents=agents), token=token, user=user
    )


def _store_set(picked: Picked, tasks: Sequence[Task], job: LearningJob) -> None:
    condition = picked.condition
    hint_set, is_new = HintSet.objects.get_or_create(
        key=picked.key,
        defaults={
            "job": job,
            "level": condition.level,
            "relatedness": condition.relatedness,
            "method": METHOD,
        },
    )
    if is_new:
        HintChoice.objects.bulk_create(
            [
                HintChoice(
                    hint_set=hint_set,
                    task=task,
                    hint=choice.hint,
                    score=choice.score,
                    n_tied=choice.n_tied,
                )
                for task, choice in zip(tasks, picked.choices, strict=True)
            ],
            batch_size=500,
        )


def _stored(task: Task) -> Task:
    return task if task.pk else store_task(task_record(task_name(task)))
