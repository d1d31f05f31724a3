"""A run with all that belongs to it, as readers yield it; a stub where no trajectory is.

Verdicts of a published data set come in without the runs. A stub is a run that names task, agent
and source, and has no steps. It becomes whole when a trajectory comes that has all the names of
the stub.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, get_args

from webagent.trajectory.blobs import BlobSource, BlobStash
from webagent.trajectory.canonical import json_digest, run_content_hash
from webagent.trajectory.intake import Problem
from webagent.trajectory.records import (
    AgentRecord,
    BlobRecord,
    Gap,
    Record,
    RunRecord,
    SourceRecord,
    StepRecord,
    StubRecord,
    TaskRecord,
    TaskSetRecord,
    TextPart,
)
from webagent.trajectory.texts import bounded_name
from webagent.trajectory.verdict_records import (
    SAID,
    AdjudicationRecord,
    EvaluationRecord,
    HintRecord,
    LabelRecord,
)

Said = EvaluationRecord | LabelRecord | AdjudicationRecord


def place_of(said: Said) -> str:
    """What is said of a run, as a problem with it names it."""
    kind = type(said).__name__.removesuffix("Record").lower()
    return f"{kind} {said.id}"


def n_taken(said: Iterable[Said], problems: Iterable[Problem]) -> int:
    """How many of these no problem refuses."""
    refused = {problem.file for problem in problems}
    return sum(place_of(each) not in refused for each in said)


@dataclass(frozen=True, kw_only=True)
class RunBundle:
    """One run with its task, steps, verdicts and files. Ids are those of the source."""

    source: str
    """Where it lay, as a path inside what was given."""
    task: TaskRecord
    run: RunRecord
    steps: tuple[StepRecord, ...] = ()
    evaluations: tuple[EvaluationRecord, ...] = ()
    labels: tuple[LabelRecord, ...] = ()
    adjudications: tuple[AdjudicationRecord, ...] = ()
    hints: tuple[HintRecord, ...] = ()
    """Written from this run."""
    blobs: BlobSource = field(default_factory=BlobStash, repr=False, compare=False)
    problems: tuple[Problem, ...] = ()

    @cached_property
    def content_hash(self) -> str:
        """The same for the same run, whatever installation it comes from."""
        return run_content_hash(self.task, self.run, self.steps)

    @property
    def n_screenshots(self) -> int:
        """How many observations have a clean picture."""
        observations = [o for step in self.steps for o in (step.before, step.after) if o]
        return sum(o.screenshot is not None for o in observations)

    def records(self) -> Iterator[Record]:
        """Every record, task first."""
        yield self.task
        yield self.run
        yield from self.steps
        for name in SAID:
            yield from getattr(self, name)

    def blob_records(self) -> Iterator[BlobRecord]:
        """Every blob that is mentioned, each hash once, in order of appearance."""
        return iter(self._mentioned.values())

    @cached_property
    def _mentioned(self) -> dict[str, BlobRecord]:
        found: dict[str, BlobRecord] = {}
        for record in self.records():
            for blob in blobs_of(record):
                found.setdefault(blob.sha256, blob)
        return found

    def read_blob(self, sha256: str) -> bytes:
        """The verified bytes of one blob. Raises BlobError."""
        return self.blobs.read(sha256)


def blobs_of(value: Record | tuple[object, ...]) -> Iterator[BlobRecord]:
    """Every blob inside a record, in the order of its fields."""
    if isinstance(value, BlobRecord):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            if isinstance(item, (tuple, Record)):
                yield from blobs_of(item)
    else:
        fields = value.__dict__
        for name in _fields_with_blobs(type(value)):
            if item := fields[name]:
                yield from blobs_of(item)


@cache
def _fields_with_blobs(kind: type[Record]) -> tuple[str, ...]:
    """Those that may hold one, by their types: few of a step's many parts do."""
    fields = kind.model_fields.items()
    return tuple(name for name, field in fields if _may_hold_blobs(field.annotation))


def _may_hold_blobs(annotation: object) -> bool:
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return annotation is BlobRecord or bool(_fields_with_blobs(annotation))
    return any(_may_hold_blobs(part) for part in get_args(annotation))


UNKNOWN = "unknown"
"""Stands for a name or a version that the source does not tell."""


def task_record(
    task_set: str, external_id: str, *, version: str = UNKNOWN, **fields: Any
) -> TaskRecord:
    """A task of a set, with an id that says which."""
    shown = f"{task_set}@{version}:{external_id}"
    return TaskRecord(
        **{"id": bounded_name(shown)} | fields,
        task_set=TaskSetRecord(name=task_set, version=version),
        external_id=external_id,
    )


TRAJECTORY = "trajectory"
"""What a stub lacks, as its gap names it."""
NAMED_ONLY = "named_only"
"""Key in a task's `extra`: nothing is known of it but the name."""
FOUND_BY = ("task_set_version", "agent_version", "model", "seed")
"""Names that a source may leave open."""
_VARIANT = re.compile(r"\.(?:resized|improved)(?=\.|$)")


def same_task(task_id: str) -> str:
    """The task's id without the words that mark variants of AgentRewardBench's files."""
    return _VARIANT.sub("", task_id)


def spellings(task_set: str, task_id: str) -> set[str]:
    """How a task of the set is called: BrowserGym writes `webarena.7` where the file has `7`."""
    bare = same_task(task_id).removeprefix(f"{task_set}.")
    return {task_id, bare, f"{task_set}.{bare}"}


def stub_key(names: StubRecord) -> str:
    """The same for the same names, whatever file they stand in."""
    return json_digest(names)


def stub_bundle(
    names: StubRecord,
    *,
    format: str,
    why: str,
    goal: str = "",
    experiment: str | None = None,
    task: TaskRecord | None = None,
    **verdicts: Any,
) -> RunBundle:
    """A run of these names without trajectory.

    Args:
        format: of the file that names it.
        why: the words of the gap: what is missing, and where it may be found.
        task: where it is known already.
    """
    words = (TextPart(text=goal),) if goal else ()
    task = task or task_record(
        names.task_set,
        names.task,
        version=names.task_set_version or UNKNOWN,
        goal=words,
        extra={NAMED_ONLY: True},
    )
    key = f"{names.task_set}/{names.task}/{names.agent}/{stub_key(names)[:12]}"
    run = RunRecord(
        id=bounded_name(f"stub:{key}"),
        task_id=task.id,
        source=SourceRecord(format=format),
        agent=AgentRecord(name=names.agent, version=names.agent_version),
        models=(names.model,) if names.model else (),
        experiment=experiment,
        goal=words,
        seed=names.seed,
        trial=names.trial,
        gaps=(Gap(what=TRAJECTORY, where=format, why=why),),
        stub=names,
    )
    return RunBundle(source=run.id, task=task, run=run, **verdicts)


def names_of(bundle: RunBundle) -> StubRecord:
    """The names of a run; with its trajectory it has them all."""
    run, task = bundle.run, bundle.task
    return run.stub or StubRecord(
        task_set=task.task_set.name,
        task=task.external_id,
        agent=run.agent.name,
        task_set_version=task.task_set.version,
        agent_version=run.agent.version or "",
        model=run.models[0] if run.models else str((run.agent.config or {}).get("model", "")),
        seed=run.seed,
        trial=run.trial,
    )


def has_names(whole: StubRecord, wanted: StubRecord) -> bool:
    """Whether a run of the first names has all that the second name."""
    return may_be_same(whole, wanted) and all(
        getattr(wanted, name) is None or getattr(whole, name) is not None for name in FOUND_BY
    )


def may_be_same(one: StubRecord, other: StubRecord) -> bool:
    """Whether no name of the one speaks against the other."""
    if (one.task_set, one.agent, one.trial) != (other.task_set, other.agent, other.trial):
        return False
    if not spellings(one.task_set, one.task) & spellings(other.task_set, other.task):
        return False
    pairs = ((getattr(one, name), getattr(other, name)) for name in FOUND_BY)
    return all(a is None or b is None or a == b for a, b in pairs)


def n_named(names: StubRecord) -> int:
    """How many of the names that may be left open are given."""
    return sum(getattr(names, name) is not None for name in FOUND_BY)
