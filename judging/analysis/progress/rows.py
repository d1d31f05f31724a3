"""The runs of an experiment with their verdict and their progress: what all figures are made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from judging.analysis.experiments.population import RunResult, Scope
from judging.analysis.experiments.sources import Source
from judging.analysis.progress.measured import (
    Missing,
    RunProgress,
    first_missed,
    milestones_of,
    progress_by,
)
from judging.analysis.progress.sources import ProgressSource
from runs.models import Run
from webagent.milestones.findings import Definition


class Stop(NamedTuple):
    """A milestone by its task and its place among those in force, from 0."""

    task: int
    place: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run that counts. `progress` is None where `missing` says why."""

    run: UUID
    agent: int
    task: int
    task_name: str
    task_set: int
    task_set_name: str
    standing: RunResult
    n_steps: int
    stopped_at: int | None
    """Its step limit, if that ended it: nobody knows what it would have done after."""
    milestones: int
    """How many its task has."""
    progress: RunProgress | None
    missing: Missing | None
    stop: Stop | None
    """The first milestone that it never reached, if there is one."""

    @property
    def is_success(self) -> bool:
        return self.standing is RunResult.SUCCESS

    @property
    def is_decided(self) -> bool:
        return self.standing in (RunResult.SUCCESS, RunResult.FAILURE)

    @property
    def is_known(self) -> bool:
        """Whether both are known: what figures of progress beside success speak of."""
        return self.progress is not None and self.is_decided


def rows_of(scope: Scope, verdicts: Source, progress: ProgressSource) -> list[RunRow]:
    """All runs that count, in four queries."""
    counted = scope.counted(verdicts)
    milestones = milestones_of(counted.order_by().values("task"))
    found_progress = progress_by(progress, counted, milestones)
    rows = counted.order_by("agent", "task", "trial", "pk").values_list(
        "pk",
        "agent",
        "task",
        "task__external_id",
        "task__task_set",
        "task__task_set__name",
        "task__task_set__version",
        "standing",
        "n_steps",
        "max_steps",
        "end_reason",
    )
    runs = []
    for pk, agent, task, name, in_set, set_name, version, standing, steps, limit, end in rows:
        found = found_progress.get(pk, Missing.NOT_ASKED)
        if task not in milestones and isinstance(found, Missing):
            found = Missing.NO_MILESTONES  # What the environment reports by itself needs none.
        runs.append(
            RunRow(
                run=pk,
                agent=agent,
                task=task,
                task_name=name,
                task_set=in_set,
                task_set_name=f"{set_name} {version}",
                standing=RunResult(standing),
                n_steps=steps,
                stopped_at=(limit or steps) if end == Run.EndReason.MAX_STEPS else None,
                milestones=len(milestones.get(task, ())),
                progress=found if isinstance(found, RunProgress) else None,
                missing=found if isinstance(found, Missing) else None,
                stop=_stop(task, found, milestones.get(task, ())),
            )
        )
    return runs


def most_trials(rows: Sequence[RunRow]) -> int:
    """The most trials with a verdict that a configuration has of one task; at least 1."""
    counts = Counter((row.agent, row.task) for row in rows if row.is_decided)
    return max(counts.values(), default=1)


def _stop(task: int, found: RunProgress | Missing, milestones: Sequence[Definition]) -> Stop | None:
    place = first_missed(found, milestones) if isinstance(found, RunProgress) else None
    return None if place is None else Stop(task, place, milestones[place].name)
