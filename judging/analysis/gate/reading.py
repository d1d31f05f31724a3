"""The two sides of a gate, read from stored runs."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Any, NamedTuple
from uuid import UUID

from django.core.management.base import CommandError
from django.db.models import QuerySet

from judging.analysis.experiments.access import source_named
from judging.analysis.experiments.figures import configuration_names
from judging.analysis.experiments.population import (
    LEFT_OUT,
    RunResult,
    Scope,
    Source,
    choices_among,
    whole_scope,
)
from judging.analysis.gate.decision import CannotTellError, Metric, Side, TaskKey, Trials
from judging.analysis.progress.sources import Missing, ProgressSource, milestones_of, progress_by
from judging.evaluators.milestones import MECHANICAL, PROGRESS_EVALUATORS
from runs.interface.terminal import experiment_named
from runs.models import AgentConfiguration, Experiment

NO_TRIALS = (RunResult.SUPERSEDED, RunResult.INFEASIBLE)
"""An earlier attempt is no trial of its own, and what nobody can do is asked of no side."""
UNENDED = "not ended yet"
ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contestant:
    """One side: an experiment, and the configurations of it that count, mostly one."""

    experiment: Experiment
    agents: tuple[AgentConfiguration, ...]
    agent_name: str

    @property
    def scope(self) -> Scope:
        return whole_scope(self.experiment)

    @property
    def name(self) -> str:
        return f"{self.experiment.name} · {self.agent_name}"


def contestant(named: str, agent: str | None) -> Contestant:
    """The side of an experiment by name or number, and of its configuration by name or number.

    With ALL every configuration counts, their runs being trials of one. Raises CannotTellError
    where there is no such thing, or the configuration has to be chosen.
    """
    try:
        experiment = experiment_named(named)
    except CommandError as error:
        raise CannotTellError(str(error)) from error
    of_experiment = whole_scope(experiment).runs.order_by().values("agent")
    agents = list(AgentConfiguration.objects.filter(pk__in=of_experiment))
    names = configuration_names(agents)
    if agent == ALL and agents:
        return Contestant(experiment=experiment, agents=tuple(agents), agent_name=ALL)
    fitting = [each for each in agents if agent in (None, names[each.pk], each.name, str(each.pk))]
    if len(fitting) == 1:
        name = names[fitting[0].pk]
        return Contestant(experiment=experiment, agents=tuple(fitting), agent_name=name)
    offered = ", ".join(f"{each.pk} is {names[each.pk]}" for each in fitting or agents)
    if not agents:
        raise CannotTellError(f"{experiment.name} has no runs")
    problem = "several configurations" if fitting else f"no configuration {agent}"
    raise CannotTellError(f"{experiment.name} has {problem}; choose one of: {offered}; or {ALL}")


def command_line(source: Source, baseline: str, candidate: str) -> str:
    """The gate's command for two sides by this source, each as `side_words` names it."""
    sides = f"--baseline {baseline} --candidate {candidate}"
    return f"manage.py regression_gate {sides} --metric success --max-drop 5 --source {source.key}"


def side_words(name: str, experiment: int, agent: int | None) -> str:
    """A side as the value of `--baseline` or `--candidate`; without an agent all of them."""
    return f"{experiment} --{name}-agent {ALL if agent is None else agent}"


def source_for(metric: Metric, named: str | None, sides: Sequence[Contestant]) -> Source:
    """Whose verdicts count: the one that is named, or else the one that speaks of both sides.

    Without a name progress is that of the mechanical milestones; success is the reward where both
    sides have one, else what speaks most. Raises CannotTellError where there is none, as where runs
    have not ended, or it gives no such figure.
    """
    if metric is Metric.PROGRESS:
        source = _named(named or f"evaluator:{MECHANICAL}")
        if source.evaluator is None or source.evaluator.name not in PROGRESS_EVALUATORS:
            raise CannotTellError(f"{named} tells no progress; an evaluator of milestones does")
        return source
    if named:
        return _named(named)
    spoken = reduce(and_, map(_spoken_of, sides))
    if Source() in spoken:
        return Source()
    if not spoken:
        for side in sides:
            read_side(side, metric, Source())  # what has not ended is the better reason
        raise CannotTellError("no reward, reference verdict or evaluator speaks of both sides")
    return max(spoken, key=lambda source: (spoken[source], source.key))


def _spoken_of(side: Contestant) -> Counter[Source]:
    """On how many of its runs each source gives a verdict."""
    runs = side.scope.counted(Source()).filter(agent__in=side.agents)
    return Counter({choice.source: choice.verdicts for choice in choices_among(runs)})


def read_side(of: Contestant, metric: Metric, source: Source) -> Side:
    """The side's trials by task, in four queries at most.

    Raises CannotTellError where some of its runs have not ended.
    """
    runs = of.scope.standing(source).filter(agent__in=of.agents).exclude(standing__in=NO_TRIALS)
    rows = runs.values_list("pk", "task__task_set__name", "task__external_id", "standing")
    value_of = _progress(runs, source) if metric is Metric.PROGRESS else _success
    values: defaultdict[TaskKey, list[float]] = defaultdict(list)
    silent: defaultdict[TaskKey, Counter[str]] = defaultdict(Counter)
    partial: Counter[TaskKey] = Counter()
    for pk, task_set, task, word in rows:
        value = value_of(pk, RunResult(word))
        if isinstance(value, str):
            silent[task_set, task][value] += 1
        else:
            values[task_set, task].append(value.share)
            partial[task_set, task] += value.is_partial
    if waiting := sum(counts[UNENDED] for counts in silent.values()):
        raise CannotTellError(f"{waiting} runs of {of.name} have not ended yet")
    return {
        task: Trials(tuple(values.get(task, ())), silent.get(task, Counter()), partial[task])
        for task in sorted(values.keys() | silent.keys())
    }


class _Value(NamedTuple):
    share: float
    is_partial: bool = False


ValueOf = Callable[[UUID, RunResult], _Value | str]
"""The value of a run, or why it has none."""


def _success(_run: UUID, standing: RunResult) -> _Value | str:
    value = {RunResult.SUCCESS: 1.0, RunResult.FAILURE: 0.0}.get(standing)
    return _reason(standing) if value is None else _Value(value)


def _progress(runs: QuerySet[Any], source: Source) -> ValueOf:
    """The highest progress, as the evaluator's score has it, unless milestones changed since."""
    tasks = runs.order_by().values("task")
    told = progress_by(ProgressSource(source.evaluator), runs, milestones_of(tasks))

    def value_of(run: UUID, standing: RunResult) -> _Value | str:
        found = told.get(run)
        if standing in LEFT_OUT or found is None:
            return _reason(standing)
        if found is Missing.STALE:
            return "of other milestones"
        return (
            "no verdict" if isinstance(found, Missing) else _Value(found.maximum, found.is_partial)
        )

    return value_of


def _reason(standing: RunResult) -> str:
    """Why a run has no value, in the words of the command, which are English."""
    return {
        RunResult.ERROR: "ended in an error",
        RunResult.INCOMPLETE: "broken off",
        RunResult.NOT_EXECUTABLE: "not executable",
        RunResult.WAITING: UNENDED,
    }.get(standing, "no verdict")


def _named(text: str) -> Source:
    try:
        return source_named(text)
    except ValueError as error:
        raise CannotTellError(str(error)) from error
