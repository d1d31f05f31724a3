"""Runs without trajectories: verdicts of a published data set come in without the runs.

A stub is a run that names task, agent and source, and has no steps. It becomes whole when a
trajectory comes that has all the names of the stub.
"""

import re
from typing import Any

from webagent.trajectory.bundles import RunBundle
from webagent.trajectory.canonical import json_digest
from webagent.trajectory.files.assembling import UNKNOWN, task_record
from webagent.trajectory.records import (
    AgentRecord,
    Gap,
    RunRecord,
    SourceRecord,
    StubRecord,
    TaskRecord,
    TextPart,
)
from webagent.trajectory.texts import bounded_name

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
