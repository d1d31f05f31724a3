"""What seeded runs refer to and are made of: people, tasks, agents, evaluators; recorded steps.

The steps and their pictures are those of the shipped demo.
"""

import hashlib
import itertools
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any
from uuid import UUID

from django.db import transaction

from judging.demo import RUNS_FILE
from judging.evaluating.evaluating import version_of
from judging.evaluators.registry import evaluator_named
from judging.models import EvaluatorVersion
from judging.studies.access import Role, create_user
from runs.imports.session import import_bounds
from runs.models import AgentConfiguration, Step, Task, TaskSet, User
from runs.storage.blobs import BlobBatch
from runs.storage.records import step_row
from runs.viewer.run_list.tables import DEFAULT_COLUMNS
from tools.seed_scale import PEOPLE, TASK_SETS, shares
from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.reading import open_runs

RUNS_READ = 20
"""Of the demo's runs, so many give their steps and pictures."""
VARIANTS = 8
"""Steps that are made of each recorded one; they differ in how long the thought is."""
_NOBODY = UUID(int=0)
STEP_COLUMNS = (
    "kind",
    "action",
    "thought",
    "url",
    "title",
    "target",
    "box",
    "point",
    "screenshot",
    "tree",
    "seconds",
    "input_tokens",
    "output_tokens",
    "record",
)


@dataclass(frozen=True, slots=True)
class Pool:
    """Rows of steps, without run and index, and texts."""

    steps: list[tuple[Any, ...]]
    """In the order of `STEP_COLUMNS`."""
    sentences: list[str]
    goals: list[str]

    def text(self, random: Random, chars: int) -> str:
        """Recorded sentences, so many characters of them."""
        if not chars:
            return ""
        words = " ".join(random.choices(self.sentences, k=1 + chars // 20))
        return words[:chars]


def read_pool(random: Random) -> Pool:
    """The pool, with its pictures in the blob store."""
    steps: list[Step] = []
    goals: list[str] = []
    blobs = BlobBatch()
    with open_runs(RUNS_FILE, bounds=import_bounds(), label=RUNS_FILE.name) as source:
        for bundle in itertools.islice(source, RUNS_READ):
            if not isinstance(bundle, RunBundle):
                continue
            for record in bundle.blob_records():
                blobs.add(bundle.read_blob(record.sha256), record.media_type)
            steps += (step_row(_NOBODY, step) for step in bundle.steps)
            goals += (part.text for part in bundle.run.goal or () if hasattr(part, "text"))
    with transaction.atomic():
        blobs.save()
    sentences = sorted({step.thought for step in steps if step.thought})
    pool = Pool([], sentences, sorted(set(goals)))
    pool.steps.extend(_variants(pool, steps, random))
    return pool


def _variants(pool: Pool, steps: list[Step], random: Random) -> Iterator[tuple[Any, ...]]:
    for step in itertools.chain.from_iterable(itertools.repeat(steps, VARIANTS)):
        (chars,) = shares.THOUGHT_CHARS.draw(random, 1)
        yield (
            step.kind,
            step.action,
            pool.text(random, chars),
            step.url,
            step.title,
            step.target,
            json.dumps(step.box),
            json.dumps(step.point),
            step.screenshot_id,
            step.tree_id,
            round(random.uniform(*shares.STEP_SECONDS), 3),
            random.randint(800, 6000),
            random.randint(20, 400),
            json.dumps({"actions": step.record.get("actions", [])}),
        )


N_PEOPLE = {Role.ANNOTATOR: 12, Role.ADJUDICATOR: 3, Role.ENGINEER: 2}


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """A seeded task set."""

    shape: shares.SetShape
    tasks: Sequence[Task]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that rows refer to."""

    people: dict[Role, list[User]]
    groups: list[TaskGroup]
    agents: list[AgentConfiguration]
    evaluators: dict[str, EvaluatorVersion]
    """By the words of `shares.RIGHT`."""


def make_plan(pool: Pool, random: Random) -> Plan:
    """The rows, made where they are not there yet."""
    people = {
        role: [_person(role, number) for number in range(1, n + 1)] for role, n in N_PEOPLE.items()
    }
    names = ("imported-reward", "webarena-strict", "webarena-repaired")
    evaluators = {name: version_of(evaluator_named(name)) for name in names}
    return Plan(people, _groups(pool, random), _agents(), evaluators | {"judge": _judge()})


def _person(role: Role, number: int) -> User:
    """An account that nobody can enter before it gets another password.

    It shows the cost of runs: no list is sorted by a column that is not shown.
    """
    name = f"{PEOPLE}{role.value}-{number}"
    found = User.objects.filter(username=name).first()
    if found:
        return found
    person = create_user(name=name, role=role, password=secrets.token_urlsafe(24))
    person.preferences["run_columns"] = [*DEFAULT_COLUMNS, "cost"]
    person.save(update_fields=["preferences"])
    return person


def _groups(pool: Pool, random: Random) -> list[TaskGroup]:
    groups = []
    for shape in shares.SETS:
        task_set, is_new = TaskSet.objects.get_or_create(name=TASK_SETS + shape.name, version="1")
        if is_new:
            Task.objects.bulk_create(_task(task_set, shape, n, pool, random) for n in _all(shape))
        tasks = Task.objects.filter(task_set=task_set).only("id", "goal", "site").order_by("pk")
        groups.append(TaskGroup(shape, list(tasks)))
    return groups


def _all(shape: shares.SetShape) -> range:
    return range(shape.n_tasks)


def _task(
    task_set: TaskSet, shape: shares.SetShape, number: int, pool: Pool, random: Random
) -> Task:
    site = shape.sites[number % len(shape.sites)]
    return Task(
        task_set=task_set,
        external_id=f"{shape.name}.{number}",
        site=site,
        sites=[site],
        goal=f"{random.choice(pool.goals)} ({number})",
        template=str(number // 4),
        evaluation_kind=shape.evaluation_kinds[number % len(shape.evaluation_kinds)],
    )


def _agents() -> list[AgentConfiguration]:
    for name in shares.AGENT_NAMES:
        for model in shares.MODELS:
            key = hashlib.sha256(f"{TASK_SETS}{name} {model}".encode()).hexdigest()
            AgentConfiguration.objects.get_or_create(
                config_hash=key,
                defaults={
                    "name": name,
                    "version": "1",
                    "model": model,
                    "model_names": [model],
                    "config": {"model": model},
                },
            )
    agents = AgentConfiguration.objects.filter(model__in=shares.MODELS)
    return list(agents.filter(name__in=shares.AGENT_NAMES).order_by("name", "model"))


def _judge() -> EvaluatorVersion:
    key = hashlib.sha256(f"{TASK_SETS}judge".encode()).hexdigest()
    judge, _is_new = EvaluatorVersion.objects.get_or_create(
        config_hash=key,
        defaults={
            "name": "two-stage-judge",
            "kind": EvaluatorVersion.Kind.JUDGE,
            "version": TASK_SETS.strip(),
            "config": {"model": shares.MODELS[0]},
        },
    )
    return judge
