"""What an experiment with hints is to compare, and its launch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from runs.knowledge.hints.writing import described, key_of
from runs.launching.experiments.plans import Plan
from runs.launching.experiments.selection import PlanError
from runs.launching.experiments.services import Launched, launch_experiment, stored_task
from runs.models import (
    Experiment,
    Hint,
    HintChoice,
    HintLevel,
    HintRelatedness,
    HintSet,
    LearningJob,
    Task,
    User,
)
from runs.models.experiments import HINTS_KEY
from webagent.knowledge.entries import Level, Relatedness
from webagent.knowledge.relevance import METHOD, Chosen, Sources, Ties, ties_among
from webagent.trajectory.canonical import json_digest
from webagent.trajectory.records import AgentRecord


@dataclass(frozen=True, slots=True)
class Condition:
    """One cell of the experiment: how abstract the hints are, and how near their sources."""

    level: Level
    relatedness: Relatedness

    def __str__(self) -> str:
        level, relatedness = HintLevel(self.level).label, HintRelatedness(self.relatedness).label
        return f"{level}, {relatedness}"


@dataclass(frozen=True, slots=True)
class PickedHint:
    """A condition with the hint of each task, in the order of the tasks; not stored yet."""

    condition: Condition
    key: str
    choices: tuple[HintChoice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundHint:
    """The tasks that have a source at every relatedness, with it, and those that have not."""

    tasks: tuple[Task, ...]
    sources: Mapping[Relatedness, tuple[tuple[Task, Chosen], ...]]
    """By relatedness: the source task and how it was chosen, in the order of `tasks`."""
    missing: Mapping[Relatedness, tuple[Task, ...]]

    def ties(self, relatedness: Relatedness) -> Ties:
        """How many of its sources were drawn by lot."""
        return ties_among([chosen.n_tied for _task, chosen in self.sources[relatedness]])

    @property
    def left_out(self) -> tuple[Task, ...]:
        """Tasks that miss a source somewhere, each once."""
        return tuple(
            {key_of(task): task for each in self.missing.values() for task in each}.values()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HintPlan:
    """A plan of the agent without hints, and the conditions that are compared with it."""

    plan: Plan
    job: LearningJob
    base: AgentRecord
    conditions: tuple[PickedHint, ...]
    found: FoundHint

    @property
    def n_runs(self) -> int:
        return self.plan.n_runs * (len(self.conditions) + 1)


class HintPool:
    """The hints of one job that somebody may know of, by source task."""

    def __init__(self, job: LearningJob, hints: Sequence[Hint], levels: Sequence[Level]) -> None:
        """Only runs with a hint of every level count, so that levels differ in nothing else.

        Args:
            hints: of the job, with their sources and those tasks and task sets.
        """
        self.job = job
        self.levels = tuple(levels)
        by_run: dict[UUID, dict[Level, Hint]] = {}
        for hint in hints:
            by_run.setdefault(hint.source_id, {})[Level(hint.level)] = hint
        self._hints: dict[str, dict[Level, Hint]] = {}
        self._tasks: dict[str, Task] = {}
        for _run, written in sorted(by_run.items()):
            if all(level in written for level in levels):
                task = next(iter(written.values())).source.task
                self._hints.setdefault(key_of(task), written)
                self._tasks.setdefault(key_of(task), task)
        self._keys = sorted(self._hints)
        self._sources = Sources([described(self._tasks[key]) for key in self._keys])

    def find(self, tasks: Sequence[Task], relatednesses: Sequence[Relatedness]) -> FoundHint:
        """The sources of these tasks. A task that lacks one anywhere is compared nowhere."""
        chosen = {
            each: [self._sources.choose(described(task), each) for task in tasks]
            for each in relatednesses
        }
        whole = [
            place
            for place in range(len(tasks))
            if all(chosen[each][place] is not None for each in relatednesses)
        ]
        return FoundHint(
            tasks=tuple(tasks[place] for place in whole),
            sources={
                each: tuple(
                    (self._tasks[self._keys[one.place]], one)
                    for place in whole
                    if (one := chosen[each][place]) is not None
                )
                for each in relatednesses
            },
            missing={
                each: tuple(
                    task for task, one in zip(tasks, chosen[each], strict=True) if one is None
                )
                for each in relatednesses
            },
        )

    def picked(self, found: FoundHint) -> tuple[PickedHint, ...]:
        """Every level at every relatedness."""
        return tuple(
            self._picked(Condition(level, relatedness), found)
            for level in self.levels
            for relatedness in found.sources
        )

    def _picked(self, condition: Condition, found: FoundHint) -> PickedHint:
        choices = tuple(
            HintChoice(
                hint=self._hints[self._keys[chosen.place]][condition.level],
                score=chosen.score,
                n_tied=chosen.n_tied,
            )
            for _task, chosen in found.sources[condition.relatedness]
        )
        return PickedHint(condition, _set_key(condition, found.tasks, choices), choices)


def plan_hints(plan: Plan, pool: HintPool, relatednesses: Sequence[Relatedness]) -> HintPlan:
    """The conditions for a plan of one agent.

    Raises:
        PlanError: it has not one agent, the agent has tips of its own, or no task has all sources.
    """
    if len(plan.agents) != 1:
        raise PlanError(_("Choose one."))
    [base] = plan.agents
    if (base.config or {}).get("tips") or (base.config or {}).get(HINTS_KEY):
        raise PlanError(_("This agent already has tips. Choose one without."))
    if not pool.levels or not relatednesses:
        raise PlanError(_("Choose at least one level and one relatedness."))
    found = pool.find(plan.tasks, relatednesses)
    if plan.tasks and not found.tasks:
        raise PlanError(
            _(
                "No task has a source at every relatedness. Write hints for more tasks, or choose "
                "fewer conditions."
            )
        )
    return HintPlan(
        plan=replace(plan, tasks=found.tasks),
        job=pool.job,
        base=base,
        conditions=pool.picked(found),
        found=found,
    )


def hinted(base: AgentRecord, key: str) -> AgentRecord:
    """The same agent with the hints of that set."""
    return base.model_copy(update={"config": {**(base.config or {}), HINTS_KEY: key}})


def _set_key(condition: Condition, tasks: Sequence[Task], choices: Sequence[HintChoice]) -> str:
    """The condition and a hash of what every task is told, and of how it was chosen.

    Of the words themselves, so that the same hints have the same key in any installation.
    """
    told = [
        [str(task.task_set), task.external_id, str(each.hint.source_id), each.hint.text]
        for task, each in zip(tasks, choices, strict=True)
    ]
    digest = json_digest({"method": METHOD, "told": sorted(told)})[:12]
    return f"{condition.level}.{condition.relatedness}.{digest}"


@transaction.atomic
def launch_hint_experiment(*, plan: HintPlan, token: UUID, user: User | None) -> Launched:
    """Queue a baseline and one configuration for each condition; the same token does it once.

    Raises:
        PlanError: it cannot run here, its name is taken, or a site is not ready.
    """
    if there := Experiment.objects.filter(token=token).first():
        return Launched(there, is_new=False)
    tasks = tuple(stored_task(task) for task in plan.plan.tasks)
    for picked in plan.conditions:
        store_hint_set(picked, tasks, plan.job)
    agents = (plan.base, *(hinted(plan.base, picked.key) for picked in plan.conditions))
    return launch_experiment(
        plan=replace(plan.plan, tasks=tasks, agents=agents), token=token, user=user
    )


def store_hint_set(picked: PickedHint, tasks: Sequence[Task], job: LearningJob) -> None:
    """Store what every task is told under a condition; a set that is here stays as it is."""
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
        for task, choice in zip(tasks, picked.choices, strict=True):
            choice.hint_set, choice.task = hint_set, task
        HintChoice.objects.bulk_create(picked.choices, batch_size=500)
