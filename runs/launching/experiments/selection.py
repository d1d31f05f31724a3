"""What an experiment is made of: tasks of stored sets and installed suites, and its arms.

Arms are the same agents under several step limits or budgets of web knowledge.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from pydantic import JsonValue

from runs.catalogue.tasks.rows import suite_set, task_set_choices
from runs.interface.sentences import labelled, listed, worded
from runs.models import Task, TaskSet, User
from runs.models.experiments import KNOWLEDGE_KEY
from runs.models.tasks import TaskQuerySet, task_key
from webagent.agents.registry import BadAgentConfig, make_agent
from webagent.agents.settings import MOST_STEPS
from webagent.environment.registry import suites, task_names
from webagent.trajectory.records import AgentRecord

MAX_NAMED = 5
_BETWEEN = re.compile(r"[\s,;]+")


class PlanError(ValueError):
    """It cannot be planned like this; the message says to the user why, and what to do.

    `field` is the part of the plan that is wrong, where it is a single one: tasks or agents.
    """

    def __init__(self, words: str, field: str | None = None) -> None:
        super().__init__(words)
        self.field = field


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Tasks of one set. Empty `sites`, `kinds` and `picked` leave all in.

    `task_set` is `NAME VERSION`, or `NAME` alone for a suite that is installed or the newest
    version of a stored set.
    """

    task_set: str
    sites: Sequence[str] = ()
    kinds: Sequence[str] = ()
    picked: Sequence[str] = ()
    feasible_only: bool = True


def tasks_of(selection: Selection, user: User | None) -> tuple[Task, ...]:
    """The selected tasks, as far as the person may tell them apart; all to nobody in particular.

    Raises:
        PlanError: there is no such task set, or no task that was picked.
    """
    name = selection.task_set.strip()
    every = _of_suite(name, user) if name in suites() else _of_set(name, user)
    rows = [row for row in every if _fits(row, selection)]
    return tuple(_picked(rows, selection) if selection.picked else rows)


def read_names(words: str) -> list[str]:
    """Names of tasks from a text: between commas, spaces or lines; each once."""
    return [name for name in dict.fromkeys(_BETWEEN.split(words)) if name]


def _of_set(name: str, user: User | None) -> list[Task]:
    """Every task of a stored set. Raises PlanError if there is none of that name."""
    newest_first = TaskSet.objects.order_by("-created_at", "-pk")
    row = next((row for row in newest_first if str(row) == name), None)
    row = row or newest_first.filter(name=name).first()
    if row is None:
        known = listed(task_set_choices())
        raise PlanError(
            _("There is no %(what)s %(name)s. There are: %(known)s.")
            % {"what": _("task set"), "name": name, "known": known}
        )
    return list(_shown(row, user).in_order())


def _of_suite(name: str, user: User | None) -> list[Task]:
    """Every task of an installed suite; what has no row yet comes as one that is not stored."""
    record = suite_set(name)
    task_set = TaskSet.objects.filter(name=record.name, version=record.version).first()
    stored = {}
    if task_set is not None:
        stored = {row.external_id: row for row in _shown(task_set, user)}
    task_set = task_set or TaskSet(name=record.name, version=record.version)
    return [
        stored.get(each) or Task(task_set=task_set, external_id=each, site=name)
        for each in task_names(name)
    ]


def _shown(task_set: TaskSet, user: User | None) -> TaskQuerySet:
    tasks: TaskQuerySet = Task.objects.filter(task_set=task_set).select_related("task_set")
    return tasks if user is None else tasks.visible_to(user)


def _fits(task: Task, selection: Selection) -> bool:
    # What is sealed from the person must not show by being left out.
    is_infeasible = getattr(task, "shown_infeasible", bool(task.infeasible_reason))
    return (
        (not selection.sites or task.site in selection.sites)
        and (not selection.kinds or kind_of(task) in selection.kinds)
        and not (selection.feasible_only and is_infeasible)
    )


def kind_of(task: Task) -> str:
    """How the task is evaluated; "" where the person that it was selected for may not know."""
    return getattr(task, "shown_kind", task.evaluation_kind) or ""


def _picked(rows: list[Task], selection: Selection) -> list[Task]:
    by_name: dict[str, Task] = {}
    for row in rows:
        by_name[row.external_id] = row
        by_name.setdefault(task_key(row.task_set.name, row.external_id), row)
    if unknown := [name for name in selection.picked if name not in by_name]:
        raise PlanError(
            _("These tasks are not among the selected ones of %(set)s: %(names)s.")
            % {
                "set": selection.task_set,
                "names": listed(unknown[:MAX_NAMED]) + (" …" if unknown[MAX_NAMED:] else ""),
            }
        )
    return list({by_name[name].external_id: by_name[name] for name in selection.picked}.values())


MOST_ARMS = 20
"""Values of one setting."""
LIMIT_KEY, BUDGET_KEY = "max_steps", "knowledge_tokens"
NO_BUDGET = "none"
MOST_TOKENS = 10_000_000
_BETWEEN_VALUES = re.compile(r"[\s,;、]+")


def read_step_limits(words: str) -> tuple[int, ...]:
    """Step limits from words such as `10, 20, 30`; none for nothing.

    Raises:
        PlanError: one of them is none, or stands there twice.
    """
    return tuple(_number(each, MOST_STEPS, "max_steps") for each in _parts(words, "max_steps"))


def read_budgets(words: str) -> tuple[int | None, ...]:
    """Budgets of web knowledge in tokens, such as `6000, none`; `none` is no budget.

    Raises:
        PlanError: one of them is none, or stands there twice.
    """
    return tuple(
        None if each.lower() == NO_BUDGET else _number(each, MOST_TOKENS, "budgets", least=0)
        for each in _parts(words, "budgets")
    )


def with_arms(
    agents: Sequence[AgentRecord],
    *,
    step_limits: Sequence[int] = (),
    budgets: Sequence[int | None] = (),
) -> tuple[AgentRecord, ...]:
    """Each agent under every limit, and each that has web knowledge under every budget.

    One step limit is no arm: it holds for all runs of the plan.

    Raises:
        PlanError: no agent has web knowledge, or one takes no step limit.
    """
    if budgets and agents and not any(map(_has_knowledge, agents)):
        raise PlanError(_("None of the agents has web knowledge."), "budgets")
    limits: Sequence[int | None] = step_limits if len(step_limits) > 1 else (None,)
    return tuple(
        _arm(agent, limit, budget)
        for agent in agents
        for budget in (budgets if budgets and _has_knowledge(agent) else (...,))
        for limit in limits
    )


def _arm(agent: AgentRecord, limit: int | None, budget: object) -> AgentRecord:
    changed: dict[str, JsonValue] = {} if limit is None else {LIMIT_KEY: limit}
    if budget is None or isinstance(budget, int):
        changed[BUDGET_KEY] = budget
    if not changed:
        return agent
    try:
        return make_agent(agent.name, (agent.config or {}) | changed).describe()
    except BadAgentConfig as error:
        field = "budgets" if limit is None else "max_steps"
        raise PlanError(worded(str(error)), field) from None


def _has_knowledge(agent: AgentRecord) -> bool:
    return bool((agent.config or {}).get(KNOWLEDGE_KEY))


def _parts(words: str, field: str) -> list[str]:
    parts = [part for part in _BETWEEN_VALUES.split(words) if part]
    if len(set(parts)) < len(parts) or len(parts) > MOST_ARMS:
        raise PlanError(_("Enter at most %(most)d values, each once.") % {"most": MOST_ARMS}, field)
    return parts


def _number(text: str, most: int, field: str, least: int = 1) -> int:
    if text.isascii() and text.isdecimal() and len(text) < 10 and least <= int(text) <= most:
        return int(text)
    words = _("Enter a whole number from %(low)s to %(high)s.") % {"low": least, "high": most}
    raise PlanError(labelled(text[:40], words), field)
