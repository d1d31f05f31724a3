"""What each configuration of an experiment achieves on MiniWoB++, by both rules of success."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.db import models
from django.db.models import Case, Count, Q, QuerySet, Sum, Value, When
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judging.analysis.counting import tally
from judging.analysis.experiments.figures import names_in
from judging.analysis.experiments.population import COUNTED, RunResult, Scope, Source
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


class Rule(models.TextChoices):
    """What counts as a success. Tasks that give part of the reward tell the two apart."""

    POSITIVE = "positive", _("reward above 0")
    """The page's own reward is above 0: the rule of the source and of BrowserGym."""
    BINARY = "binary", _("reward 1")
    """It is 1: the rule of most publications."""


OF_RULE: Mapping[Rule, Q] = {Rule.POSITIVE: Q(reward__gt=0), Rule.BINARY: Q(reward=1)}
# An agent that came to no decision failed, as in the source; all other errors say nothing of it.
COUNTS = Q(standing__in=COUNTED) | Q(standing=RunResult.ERROR, error_origin=Run.ErrorOrigin.AGENT)


class TaskFigures(NamedTuple):
    """One configuration at one task."""

    task: str
    runs: int
    successes: Mapping[Rule, int]
    steps_taken: Mapping[Rule, int]
    """Of the successes, added up."""

    @property
    def steps(self) -> StepsNeeded | None:
        return steps_of(self.task)


class Group(NamedTuple):
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
        successes = self.pooled(rule).count
        return sum(each.steps_taken[rule] for each in self.tasks) / successes if successes else None

    @property
    def runs(self) -> int:
        return sum(each.runs for each in self.tasks)


class SuiteFigures:
    """One configuration at all tasks that it tried, and its runs that are not like the others."""

    def __init__(
        self, agent: int, name: str, tasks: Sequence[TaskFigures], apart: Counter[tuple[int, str]]
    ) -> None:
        self.agent, self.name = agent, name
        self.tasks = sorted(tasks, key=lambda each: each.task)
        self.broken = apart[agent, "broken"]
        """Runs that say nothing of the agent: errors of site, browser, model or harness, others."""
        self.undecided = apart[agent, "undecided"]
        """Counted runs that ended in the agent's own error: no experiment's accuracy has them."""
        self.unrewarded = apart[agent, "unrewarded"]
        """Counted runs without a reward: no accuracy by the reward has them."""

    @property
    def counted(self) -> Group:
        """The tasks that the source counts."""
        return Group([each for each in self.tasks if each.steps is not None])

    def of(self, steps: StepsNeeded | None) -> Group:
        """Those that take so many; for None those that were run although they are left out."""
        return Group([each for each in self.tasks if each.steps is steps])

    def at(self, task: str) -> Group:
        return Group([each for each in self.tasks if each.task == task])


def suite_of(scope: Scope) -> list[SuiteFigures]:
    """Every configuration of which something may be told, in three queries."""
    names = names_in(scope)
    counted: defaultdict[int, list[TaskFigures]] = defaultdict(list)
    sums: dict[str, Any] = {}
    for rule, success in OF_RULE.items():
        sums[f"n_{rule}"] = Count("pk", filter=success)
        sums[f"steps_{rule}"] = Sum("n_steps", filter=success)
    grouped = runs_of_suite(scope).filter(COUNTS).values_list("agent", "task__external_id")
    for agent, task, runs, *numbers in grouped.annotate(n=Count("pk"), **sums):
        won, steps = (
            {rule: n or 0 for rule, n in zip(Rule, numbers[at::2], strict=True)} for at in (0, 1)
        )
        counted[agent].append(TaskFigures(short_name(task), runs, won, steps))
    apart = _apart(scope)
    found = [
        SuiteFigures(agent, names.get(agent, ""), counted[agent], apart)
        for agent in {*counted, *(agent for agent, _ in apart)}
    ]
    return sorted(found, key=lambda each: (each.name, each.agent))


def runs_of_suite(scope: Scope) -> QuerySet[Any]:
    """The runs that may be told, with `standing` by the reward."""
    return scope.standing(Source()).filter(is_hidden=False, task__task_set__name=TASK_SET)


def is_suite(scope: Scope) -> bool:
    """Whether the experiment has runs on MiniWoB++ of which anything may be told."""
    return scope.visible.filter(task__task_set__name=TASK_SET).exists()


def _apart(scope: Scope) -> Counter[tuple[int, str]]:
    """How many runs of each configuration are left out here, or in an experiment's accuracy."""
    told = (RunResult.ERROR, RunResult.INCOMPLETE, RunResult.NOT_EXECUTABLE, RunResult.NONE)
    why = Case(
        When(standing=RunResult.NONE, then=Value("unrewarded")),
        When(COUNTS, then=Value("undecided")),
        default=Value("broken"),
    )
    return tally(runs_of_suite(scope).filter(standing__in=told).annotate(why=why), "agent", "why")


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
NOTE = _(
    "Published figures are as printed in the source (seeds 0-49, with gpt-4 0-19; success is a "
    "reward above 0). Its prompts, models and detector are others: a reference, no comparison."
)
_SCREENSHOTS, _HTML = _("screenshots as text"), "HTML"
PUBLISHED_RATES = (
    ("gpt-3.5-turbo", _SCREENSHOTS, 0.874, 60),
    ("gpt-3.5-turbo-16k", _SCREENSHOTS, 0.824, 74),
    ("gpt-4", _SCREENSHOTS, 0.907, 74),
    ("RCI (gpt-3.5-turbo)", _HTML, 0.906, 54),
    ("RCI (gpt-4)", _HTML, 0.940, 54),
    ("AdaPlanner", _HTML, 0.929, 53),
    ("Synapse", _HTML, 0.992, 64),
)
"""Mean of the tasks' success rates, over so many tasks, as the source printed them."""
PUBLISHED_STEPS = (
    ("gpt-3.5-turbo-16k", StepsNeeded.ONE, 0.867, None),
    ("gpt-3.5-turbo-16k", StepsNeeded.MANY, 0.723, 3.024),
    ("gpt-4", StepsNeeded.ONE, 0.913, None),
    ("gpt-4", StepsNeeded.MANY, 0.893, 3.089),
)
"""Success rates by steps, and the mean steps of successes, likewise."""


def steps_words(steps: StepsNeeded | None) -> Promise:
    """Whether a task takes one look or several, or is left out."""
    return STEPS[steps] if steps else _("left out")
