"""The runs of an experiment with their verdict and their progress: what all figures are made of,
how far some of them got, and how an address names them.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q
from django.utils.translation import gettext as _

from judging.analysis.experiments.population import RunResult, Scope, Source
from judging.analysis.progress.sources import (
    Missing,
    ProgressSource,
    RunProgress,
    milestones_of,
    progress_by,
    read_progress_source,
)
from judging.statistics.figures import Share
from judging.statistics.progress import hidden_progress
from judging.statistics.success import clustered_mean
from runs.models import Run, Task
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
    max_steps: int | None
    """The step limit that it ran under."""
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
        found, of_task = found_progress.get(pk, Missing.NOT_ASKED), milestones.get(task, ())
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
                max_steps=limit,
                stopped_at=(limit or steps) if end == Run.EndReason.MAX_STEPS else None,
                milestones=len(of_task),
                progress=found if isinstance(found, RunProgress) else None,
                missing=found if isinstance(found, Missing) else None,
                stop=None if isinstance(found, Missing) else _stop(task, found, of_task),
            )
        )
    return runs


def _stop(task: int, progress: RunProgress, milestones: Sequence[Definition]) -> Stop | None:
    """The first milestone that was never reached; None if all were.

    By people: that no more than half of them say was reached.
    """
    said = progress.votes
    for place, milestone in enumerate(milestones):
        votes = said.get(milestone.name)
        if votes and 2 * sum(votes) <= len(votes):
            return Stop(task, place, milestone.name)
    return None


def known_progress(rows: Sequence[RunRow]) -> list[tuple[RunRow, RunProgress]]:
    """Those of which both verdict and progress are known."""
    return [(row, row.progress) for row in rows if row.is_decided and row.progress is not None]


class Progressed:
    """Some runs: how far they got and how many succeeded, over those of which both are known.

    Every standard error knows that runs share tasks.
    """

    def __init__(self, rows: Sequence[RunRow]) -> None:
        known = known_progress(rows)
        tasks = [row.task for row, _ in known]
        highest = [each.maximum for _, each in known]
        won = [row.is_success for row, _ in known]
        failed = [(each.maximum, row.task) for row, each in known if not row.is_success]
        self.n = len(known)
        self.runs = len(rows)
        """All that count, known or not."""
        self.missing = Counter(row.missing for row in rows if row.missing is not None)
        """Runs without a progress rate, by why."""
        self.undecided = sum(row.progress is not None and not row.is_decided for row in rows)
        """Runs with a rate and without a verdict."""
        self.partial = sum(each.is_partial for _, each in known)
        """Runs of n whose rate is over some of their task's milestones only."""
        self.success = Share(sum(won), self.n)
        self.reached = clustered_mean(highest, tasks)
        self.held = clustered_mean([each.final for _, each in known], tasks)
        self.hidden = hidden_progress(highest, won, tasks)
        self.failures = clustered_mean([rate for rate, _ in failed], [task for _, task in failed])
        """The highest progress of the runs that failed."""


class Difficulty(StrEnum):
    """What makes a task hard."""

    MILESTONES = "milestones"
    LEVEL = "level"


KNOWN = "told"
_STOPPED = "stopped-"
_BETWEEN = "-"
_APART = ":"


def progress_value(source: ProgressSource, found: str) -> str:
    """The value of an address: runs of which the source says this."""
    return f"{source.key}{_APART}{found}"


def stopped_at(stop: Stop) -> str:
    """What is found of runs that stopped at this milestone."""
    return f"{_STOPPED}{stop.task}{_BETWEEN}{stop.place}"


Found = tuple[str, Callable[[RunRow], bool]]
"""What a source says of some runs: in words, and whether it says so of one."""


def progress_words(value: str) -> str:
    """The value in words. Raises ValueError where there is no such value."""
    source, (words, _fits) = _read(value)
    return _("%(said)s (%(source)s)") % {"said": words, "source": source.name}


def runs_of_progress(scope: Scope, verdicts: Source, value: str) -> list[UUID]:
    """The runs of which the source says so. Raises ValueError where there is no such value."""
    source, (_words, fits) = _read(value)
    return [row.run for row in rows_of(scope, verdicts, source) if fits(row)]


def with_milestones(value: str) -> Q:
    """Runs whose task has so many milestones in force: `1-3`, or `4+`.

    Raises ValueError where there is no such value.
    """
    low, high = read_range(value)
    in_force = Count("milestones", filter=Q(milestones__removed_at=None))
    tasks = Task.objects.filter(pk=OuterRef("task")).order_by().annotate(n_milestones=in_force)
    tasks = tasks.filter(n_milestones__gte=low)
    if high is not None:
        tasks = tasks.filter(n_milestones__lte=high)
    return Q(Exists(tasks))


def _read(value: str) -> tuple[ProgressSource, Found]:
    key, _apart, found = value.partition(_APART)
    return read_progress_source(key), _found(found)


def _found(text: str) -> Found:
    if text == KNOWN:
        return _("known"), lambda row: row.progress is not None
    if text in Missing.values:
        missing = Missing(text)
        return str(missing.label), lambda row: row.missing is missing
    if text.startswith(_STOPPED):
        task, _between, place = text.removeprefix(_STOPPED).partition(_BETWEEN)
        at = number_in(task), number_in(place)
        words = _("not past milestone %(n)s") % {"n": at[1] + 1}
        return words, lambda row: row.stop is not None and row.stop[:2] == at
    low, end = read_range(text)
    high = 100 if end is None else end
    words = _("%(low)s to %(high)s %%") % {"low": low, "high": high}

    def within(row: RunRow) -> bool:
        return row.progress is not None and low <= round(100 * row.progress.maximum, 6) <= high

    return words, within


def read_range(value: str) -> tuple[int, int | None]:
    """The ends of `3`, `3-5` or `3+`; None for no upper end.

    Raises ValueError where the value is no range of whole numbers.
    """
    if value.endswith("+"):
        return number_in(value.removesuffix("+")), None
    low, between, high = value.partition(_BETWEEN)
    return number_in(low), number_in(high if between else low)


def number_in(text: str) -> int:
    """The whole number of an address.

    Raises ValueError where it is none, or none that a row could have.
    """
    if not text.isdecimal() or len(text) > 9:
        raise ValueError(f"{text} is no number")
    return int(text)
