"""Arms of an experiment: the same agents under several step limits or budgets of web knowledge."""

import re
from collections.abc import Sequence

from django.utils.translation import gettext as _
from pydantic import JsonValue

from runs.interface.listing import labelled
from runs.interface.stored_sentences import worded
from runs.launching.experiments.selection import PlanError
from runs.models.experiments import KNOWLEDGE_KEY
from webagent.agents.registry import BadAgentConfig, make_agent
from webagent.agents.settings import MOST_STEPS
from webagent.trajectory.records import AgentRecord

MOST_ARMS = 20
"""Values of one setting."""
LIMIT_KEY, BUDGET_KEY = "max_steps", "knowledge_tokens"
NO_BUDGET = "none"
MOST_TOKENS = 10_000_000
_BETWEEN = re.compile(r"[\s,;、]+")


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
    parts = [part for part in _BETWEEN.split(words) if part]
    if len(set(parts)) < len(parts) or len(parts) > MOST_ARMS:
        raise PlanError(_("Enter at most %(most)d values, each once.") % {"most": MOST_ARMS}, field)
    return parts


def _number(text: str, most: int, field: str, least: int = 1) -> int:
    if text.isascii() and text.isdecimal() and len(text) < 10 and least <= int(text) <= most:
        return int(text)
    words = _("Enter a whole number from %(low)s to %(high)s.") % {"low": least, "high": most}
    raise PlanError(labelled(text[:40], words), field)
