"""What each configuration of an experiment achieves on MiniWoB++, by both rules of success."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import Case, Count, Q, QuerySet, Sum, Value, When
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.analysis.experiments.figures import names_in
from judging.analysis.experiments.population import COUNTED, RunResult, Scope
from judging.analysis.experiments.sources import Source
from judging.statistics.figures import Interval, Share, Undefined
from judging.statistics.success import Mean, mean, mean_interval
from runs.models import Run
from webagent.environment.miniwob_suite import (
    TASK_SET,
    Exclusion,
    StepsNeeded,
    short_name,
    steps_of,
)


class Rule(StrEnum):
    """What counts as a success. Tasks that give part of the reward tell the two apart."""

    POSITIVE = "positive"
    """The page's own reward is above 0: the rule of the source and of BrowserGym."""
    BINARY = "binary"
    """It is 1: the rule of most publications."""


OF_RULE: Mapping[Rule, Q] = {Rule.POSITIVE: Q(reward__gt=0), Rule.BINARY: Q(reward=1)}
# An agent that came to no decision failed, as in the source; all other errors say nothing of it.
COUNTS = Q(standing__in=COUNTED) | Q(standing=RunResult.ERROR, error_origin=Run.ErrorOrigin.AGENT)


class _Apart(StrEnum):
    """Runs that are left out here, or in an experiment's accuracy."""

    BROKEN = "broken"
    UNDECIDED = "undecided"
    UNREWARDED = "unrewarded"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFigures:
    """One configuration at one task."""

    task: str
    runs: int
    successes: Mapping[Rule, int]
    steps_taken: Mapping[Rule, int]
    """Of the successes, added up."""

    @property
    def steps(self) -> StepsNeeded | None:
        return steps_of(self.task)

    def share(self, rule: Rule) -> Share:
        """Successes among its runs, with Wilson's interval."""
        return Share(self.successes[rule], self.runs)

    def mean_steps(self, rule: Rule) -> float | None:
        """Of its successes; None where there are none."""
        return _mean_steps([self], rule)


@dataclass(frozen=True, slots=True)
class Group:
    """Some tasks of one configuration."""

    tasks: Sequence[TaskFigures]

    def rate(self, rule: Rule) -> Mean:
        """The mean of the tasks' success rates, each task counting once."""
        return mean([each.successes[rule] / each.runs for each in self.tasks])

    def interval(self, rule: Rule) -> Interval | Undefined:
        """Of that mean: tasks are what was drawn, runs of a task are alike."""
        return mean_interval(self.rate(rule), low=0.0, high=1.0)

    def pooled(self, rule: Rule) -> Share:
        """All runs taken together, with Wilson's interval: as if they were independent."""
        return Share(sum(each.successes[rule] for each in self.tasks), self.runs)

    def mean_steps(self, rule: Rule) -> float | None:
        """Of all successes; None where there are none."""
        return _mean_steps(self.tasks, rule)

    @property
    def runs(self) -> int:
        return sum(each.runs for each in self.tasks)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFigures:
    """One configuration at all tasks that it tried."""

    agent: int
    name: str
    tasks: Sequence[TaskFigures]
    broken: int
    """Runs that say nothing of the agent: errors of site, browser, model or harness, and others."""
    undecided: int
    """Counted runs that ended in the agent's own error: no accuracy of an experiment has them."""
    unrewarded: int
    """Counted runs without a reward: no accuracy by the reward has them."""

    @property
    def counted(self) -> Group:
        """The tasks that the source counts."""
        return Group([each for each in self.tasks if each.steps is not None])

    @property
    def excluded(self) -> Group:
        """Those that were run although they are left out by default."""
        return Group([each for each in self.tasks if each.steps is None])

    def of(self, steps: StepsNeeded) -> Group:
        return Group([each for each in self.tasks if each.steps is steps])

    def at(self, task: str) -> TaskFigures | None:
        return next((each for each in self.tasks if each.task == task), None)


@dataclass(frozen=True, slots=True)
class Suite:
    """All configurations of an experiment on MiniWoB++."""

    configurations: Sequence[SuiteFigures]

    @property
    def tasks(self) -> list[str]:
        """Every task that some configuration tried: counted ones first, by name."""
        every = {each.task for one in self.configurations for each in one.tasks}
        return sorted(every, key=lambda task: (steps_of(task) is None, task))


def suite_of(scope: Scope) -> Suite:
    """The figures of what may be told, in two queries."""
    names = names_in(scope)
    counted: defaultdict[int, dict[str, TaskFigures]] = defaultdict(dict)
    for agent, task, runs, *numbers in _sums(scope):
        counted[agent][task] = _task(short_name(task), runs, numbers)
    apart = _apart(scope)
    found = [
        SuiteFigures(
            agent=agent,
            name=names.get(agent, ""),
            tasks=sorted(counted[agent].values(), key=lambda each: each.task),
            broken=apart[agent, _Apart.BROKEN],
            undecided=apart[agent, _Apart.UNDECIDED],
            unrewarded=apart[agent, _Apart.UNREWARDED],
        )
        for agent in {*counted, *(agent for agent, _ in apart)}
    ]
    return Suite(sorted(found, key=lambda each: (each.name, each.agent)))


def runs_of_suite(scope: Scope) -> QuerySet[Any]:
    """The runs that may be told, with `standing` by the reward."""
    return scope.standing(Source()).filter(is_hidden=False, task__task_set__name=TASK_SET)


def is_suite(scope: Scope) -> bool:
    """Whether the experiment has runs on MiniWoB++ of which anything may be told."""
    return scope.visible.filter(task__task_set__name=TASK_SET).exists()


def _sums(scope: Scope) -> Iterable[tuple[Any, ...]]:
    sums: dict[str, Any] = {}
    for rule, success in OF_RULE.items():
        sums[f"n_{rule}"] = Count("pk", filter=success)
        sums[f"steps_{rule}"] = Sum("n_steps", filter=success)
    counted = runs_of_suite(scope).filter(COUNTS)
    rows: QuerySet[Any, Any] = counted.values_list("agent", "task__external_id").annotate(
        n=Count("pk"), **sums
    )
    return rows


def _task(name: str, runs: int, numbers: Sequence[int | None]) -> TaskFigures:
    return TaskFigures(
        task=name,
        runs=runs,
        successes={rule: numbers[2 * at] or 0 for at, rule in enumerate(Rule)},
        steps_taken={rule: numbers[2 * at + 1] or 0 for at, rule in enumerate(Rule)},
    )


def _apart(scope: Scope) -> Counter[tuple[int, _Apart]]:
    """How many runs of each configuration are not like the others."""
    told = (RunResult.ERROR, RunResult.INCOMPLETE, RunResult.NOT_EXECUTABLE, RunResult.NONE)
    why = Case(
        When(standing=RunResult.NONE, then=Value(_Apart.UNREWARDED)),
        When(COUNTS, then=Value(_Apart.UNDECIDED)),
        default=Value(_Apart.BROKEN),
    )
    runs: Any = runs_of_suite(scope).filter(standing__in=told).annotate(why=why)
    counts: Any = runs.values_list("agent", "why").annotate(n=Count("pk"))
    return Counter({(agent, _Apart(why)): n for agent, why, n in counts})


def _mean_steps(tasks: Iterable[TaskFigures], rule: Rule) -> float | None:
    tasks = list(tasks)
    successes = sum(each.successes[rule] for each in tasks)
    return sum(each.steps_taken[rule] for each in tasks) / successes if successes else None


RULES: Mapping[Rule, Promise] = {
    Rule.POSITIVE: _("reward above 0"),
    Rule.BINARY: _("reward 1"),
}
STEPS: Mapping[StepsNeeded, Promise] = {
    StepsNeeded.ONE: _("one step"),
    StepsNeeded.MANY: _("many steps"),
}
UNDECIDED = _("in the agent's own error")
UNREWARDED = _("without a reward")
EXCLUSIONS: Mapping[Exclusion, Promise] = {
    Exclusion.DEBUG: _("made for debugging; earlier work leaves it out too"),
    Exclusion.REACTION: _("must be reacted to at once"),
    Exclusion.DRIVER: _("takes an action that the source's browser driver could not do"),
    Exclusion.UNCLEAR: _("its instruction in words is unclear"),
    Exclusion.BOXES: _("cannot be told from boxes where to act"),
    Exclusion.NO_EXAMPLE: _("no worked example could be made"),
    Exclusion.LATER: _("a later task, not among the 104 that the source chose from"),
    Exclusion.NO_DELAY: _("a variant without delay, not among the 104 that the source chose from"),
}


def steps_words(steps: StepsNeeded | None) -> Promise:
    """Whether a task takes one look or several, or is left out."""
    return STEPS[steps] if steps else _("left out")
