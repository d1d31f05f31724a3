"""What hints changed, task by task: the experiment as somebody may know it, under one source.

A task counts in a cell once every planned trial of it has a verdict on both sides. Other tasks are
left out whole, with the reason: a trial without a verdict is neither success nor failure, and a
rate over fewer trials would hide it.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from judging.analysis.experiments.population import DECIDED, RunResult, Scope, Source
from judging.statistics.comparison import Difference, mean_difference, scaled
from runs.launching.experiments.hint_plans import Condition
from runs.models import AgentConfiguration, Experiment, HintChoice, HintSet, Task
from runs.models.experiments import HINTS_KEY
from webagent.knowledge.entries import Level, Relatedness
from webagent.knowledge.relevance import Ties, ties_among

MISSING = "missing"
"""Where a trial stands of which there is no run."""


@dataclass(frozen=True)
class Side:
    """The result of each trial of one task, by its number."""

    trials: Mapping[int, RunResult]

    @property
    def successes(self) -> int:
        return sum(standing is RunResult.SUCCESS for standing in self.trials.values())

    @property
    def decided(self) -> int:
        """Trials with a verdict; errors have none."""
        return sum(standing in DECIDED for standing in self.trials.values())

    def undecided(self, planned: int) -> Counter[str]:
        """Why trials have no verdict: by standing, `missing` where there is no run at all."""
        found = Counter[str](each for each in self.trials.values() if each not in DECIDED)
        found[MISSING] += max(0, planned - len(self.trials))
        return +found


@dataclass(frozen=True)
class TaskEffect:
    """One task without and with the hint, `planned` trials on each side."""

    task: int
    planned: int
    without: Side
    hinted: Side

    @property
    def undecided(self) -> Counter[str]:
        """Trials of either side that have no verdict, by the reason."""
        return self.without.undecided(self.planned) + self.hinted.undecided(self.planned)

    @property
    def is_complete(self) -> bool:
        return not self.undecided

    @property
    def gained(self) -> int:
        """Successes with the hint minus successes without; negative where it did harm."""
        return self.hinted.successes - self.without.successes

    @property
    def best(self) -> int:
        """The difference in whether any trial succeeded: 1, 0 or −1."""
        return bool(self.hinted.successes) - bool(self.without.successes)


@dataclass(frozen=True)
class Cell:
    """All tasks of one condition."""

    tasks: Sequence[TaskEffect]
    planned: int

    @cached_property
    def complete(self) -> Sequence[TaskEffect]:
        return [each for each in self.tasks if each.is_complete]

    @cached_property
    def left_out(self) -> Sequence[TaskEffect]:
        return [each for each in self.tasks if not each.is_complete]

    @property
    def n(self) -> int:
        """Tasks that count."""
        return len(self.complete)

    @property
    def undecided(self) -> Counter[str]:
        """Trials of the tasks left out that have no verdict, by the reason."""
        return sum((each.undecided for each in self.left_out), Counter[str]())

    @cached_property
    def difference(self) -> Difference:
        """Mean success rate with hints minus without, as a share."""
        # Divided last, so that gains and losses that cancel out give exactly 0.
        found = mean_difference([each.gained for each in self.complete], largest=self.planned)
        return scaled(found, 1 / self.planned)

    @cached_property
    def best(self) -> Difference:
        """The same where a task succeeds as soon as one of its trials does."""
        return mean_difference([each.best for each in self.complete], largest=1.0)

    @property
    def improvements(self) -> int:
        """Successes won: the sum of the tasks' positive differences."""
        return sum(each.gained for each in self.complete if each.gained > 0)

    @property
    def deteriorations(self) -> int:
        """Successes lost: the sum of the tasks' negative differences, as a positive number."""
        return -sum(each.gained for each in self.complete if each.gained < 0)

    @property
    def improved(self) -> int:
        return sum(each.gained > 0 for each in self.complete)

    @property
    def worsened(self) -> int:
        return sum(each.gained < 0 for each in self.complete)

    @property
    def changed(self) -> Sequence[TaskEffect]:
        """Complete tasks that gained or lost something, the largest changes first."""
        return sorted(
            (each for each in self.complete if each.gained), key=lambda each: -abs(each.gained)
        )

    @property
    def unchanged(self) -> Sequence[TaskEffect]:
        """As many successes as before, though of other trials perhaps."""
        return [each for each in self.complete if not each.gained]


class TrialRun(NamedTuple):
    """One trial."""

    run: UUID
    agent: int
    task: int
    trial: int
    seed: int | None
    standing: RunResult


class HintEffects:
    """Every condition against the baseline, in five queries however many runs there are.

    Of each trial the last attempt counts, and of several runs of a trial the first, lest somebody
    draws again until a trial succeeds. The baseline is the configuration that differs from
    the hinted ones in nothing but the hints. Tasks of which something is hidden from the reader are
    left out for all conditions alike.
    """

    def __init__(self, scope: Scope, source: Source) -> None:
        self.experiment, self.source = scope.experiment, source
        every = _trial_runs(scope, source)
        rows = [row for row in every if row.standing is not RunResult.HIDDEN]
        self.hidden_tasks = len({row.task for row in every if row.standing is RunResult.HIDDEN})
        self.planned = _planned(scope.experiment, rows)
        agents = AgentConfiguration.objects.in_bulk({row.agent for row in rows})
        named = {pk: str(agent.config.get(HINTS_KEY) or "") for pk, agent in agents.items()}
        sets = {each.key: each for each in HintSet.objects.filter(key__in=set(named.values()))}
        hinted = [(agents[pk], sets[key]) for pk, key in named.items() if key in sets]
        plain = (agents[pk] for pk, key in named.items() if not key)
        baselines = (
            each for each in plain if any(_differs_by_hints(each, one) for one, _set in hinted)
        )
        self.baseline = next(baselines, None)
        self.sets = {condition_of(hint_set): hint_set for _agent, hint_set in hinted}
        self.agents = {
            condition_of(hint_set): agent
            for agent, hint_set in hinted
            if self.baseline is None or _differs_by_hints(self.baseline, agent)
        }
        parts = {each.pk for each in (*self.agents.values(), self.baseline) if each}
        self.others = [agent for pk, agent in agents.items() if pk not in parts]
        """Configurations of the experiment that have no part in it."""
        self.runs: defaultdict[tuple[int, int], dict[int, TrialRun]] = defaultdict(dict)
        """By configuration and task: the trials by their number."""
        self.further = 0
        """Runs beside the planned trials, such as reruns: no figure counts them."""
        for row in rows:
            if row.agent in parts:
                trials = self.runs[row.agent, row.task]
                if row.trial <= self.planned and row.trial not in trials:
                    trials[row.trial] = row
                else:
                    self.further += 1
        of_runs = {task for _agent, task in self.runs}
        tasks = Task.objects.select_related("task_set").in_bulk(of_runs)
        self.tasks = dict(sorted(tasks.items()))

    @property
    def levels(self) -> list[Level]:
        found = {condition.level for condition in self.agents}
        return [level for level in Level if level in found]

    @property
    def relatednesses(self) -> list[Relatedness]:
        found = {condition.relatedness for condition in self.agents}
        return [each for each in Relatedness if each in found]

    @cached_property
    def cells(self) -> Mapping[Condition, Cell]:
        """Every condition that there is, level by level."""
        return {
            condition: Cell([self._effect(task, agent) for task in self.tasks], self.planned)
            for level in self.levels
            for relatedness in self.relatednesses
            if (agent := self.agents.get(condition := Condition(level, relatedness)))
        }

    @cached_property
    def ties(self) -> Mapping[Condition, Ties]:
        """How many sources of each condition were drawn by lot, of the tasks that count here."""
        keys = {hint_set.pk: condition for condition, hint_set in self.sets.items()}
        choices = HintChoice.objects.filter(hint_set__in=keys, task__in=self.tasks)
        found: defaultdict[Condition, list[int]] = defaultdict(list)
        for hint_set, n_tied in choices.order_by().values_list("hint_set", "n_tied"):
            found[keys[hint_set]].append(n_tied)
        return {condition: ties_among(found[condition]) for condition in self.cells}

    @property
    def run_ids(self) -> list[UUID]:
        """Every run that takes part."""
        return [run.run for trials in self.runs.values() for run in trials.values()]

    @property
    def without(self) -> Sequence[Side]:
        """Every task without hints."""
        return [self._side(task, self.baseline) for task in self.tasks]

    def trials(
        self, task: int, condition: Condition
    ) -> list[tuple[int, TrialRun | None, TrialRun | None]]:
        """Number, run without hints and run with them, of every planned trial."""
        without = self._runs(task, self.baseline)
        hinted = self._runs(task, self.agents[condition])
        numbers = {*range(1, self.planned + 1), *without, *hinted}
        return [(number, without.get(number), hinted.get(number)) for number in sorted(numbers)]

    def _effect(self, task: int, agent: AgentConfiguration) -> TaskEffect:
        return TaskEffect(
            task, self.planned, self._side(task, self.baseline), self._side(task, agent)
        )

    def _side(self, task: int, agent: AgentConfiguration | None) -> Side:
        runs = self._runs(task, agent)
        return Side({trial: run.standing for trial, run in runs.items()})

    def _runs(self, task: int, agent: AgentConfiguration | None) -> Mapping[int, TrialRun]:
        return self.runs.get((agent.pk, task), {}) if agent else {}


def condition_of(hint_set: HintSet) -> Condition:
    """The cell that a hint set belongs to."""
    return Condition(Level(hint_set.level), Relatedness(hint_set.relatedness))


def _trial_runs(scope: Scope, source: Source) -> list[TrialRun]:
    standing: Any = scope.standing(source)
    rows = (
        standing.exclude(standing=RunResult.SUPERSEDED)
        .order_by("created_at", "pk")
        .values_list("pk", "agent", "task", "trial", "seed", "standing")
    )
    return [
        TrialRun(pk, agent, task, trial, seed, RunResult(word))
        for pk, agent, task, trial, seed, word in rows
    ]


def _planned(experiment: Experiment, rows: Sequence[TrialRun]) -> int:
    """Trials of each task: as planned, or, of experiments that came in, the most there are."""
    planned = experiment.plan.get("trials")
    return planned if isinstance(planned, int) else max((row.trial for row in rows), default=0)


def _differs_by_hints(plain: AgentConfiguration, hinted: AgentConfiguration) -> bool:
    rest = {key: value for key, value in hinted.config.items() if key != HINTS_KEY}
    return (plain.name, plain.version, plain.config) == (hinted.name, hinted.version, rest)
