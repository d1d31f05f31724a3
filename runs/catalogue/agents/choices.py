"""Agents to choose from in forms: models, kinds that need no configuration, and stored ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

from django.db.models import Exists, OuterRef, QuerySet

from runs.catalogue.agents.model_agents import model_agents
from runs.catalogue.agents.runnable import NotRunnableError, agent_choices, chosen_agent
from runs.catalogue.agents.words import agent_in_words
from runs.models import AgentConfiguration, Run, User
from runs.models.visibility import run_policy
from webagent.agents.registry import agent_kinds
from webagent.recovery.retry_policy import AgentChoice
from webagent.trajectory.canonical import hashed_json

MOST_STORED = 100


class OfferedAgents:
    """What a person can choose, by the value that a form sends.

    Stored configurations are those that have run here, or wait to, and can still be made; those
    that only runs have whose agent is hidden from the person are left out.

    Args:
        beside: offered too, even if they cannot run here: what a policy names already.
    """

    def __init__(self, user: User, beside: Iterable[AgentChoice] = ()) -> None:
        self._words: dict[str, str] = {}
        self._agents: dict[str, AgentChoice] = {}
        self._offer(model_agents().values())
        kinds = {name: str(words) for name, words in agent_choices()}
        self._words |= kinds
        self._agents |= {name: AgentChoice(name=name) for name in kinds}
        self._offer((*_stored_for(user), *beside))

    @property
    def choices(self) -> list[tuple[str, str]]:
        """Values with their words."""
        return list(self._words.items())

    def get(self, value: str) -> AgentChoice | None:
        """The agent behind a value; None for the empty one, which is “as before”.

        Raises:
            KeyError: it is not offered.
        """
        return self._agents[value] if value else None

    def value_of(self, agent: AgentChoice | None) -> str:
        """The value of an agent that is offered; empty for None."""
        return next((value for value, known in self._agents.items() if known == agent), "")

    def _offer(self, agents: Iterable[AgentChoice]) -> None:
        for agent in agents:
            if agent not in self._agents.values():
                self._agents[_value(agent)] = agent
                self._words[_value(agent)] = agent_in_words(agent)


def _value(agent: AgentChoice) -> str:
    if not agent.config:
        return agent.name
    digest = hashlib.sha256(hashed_json(agent.model_dump(mode="json"))).hexdigest()
    return f"{agent.name}-{digest[:16]}"


def _stored_for(user: User) -> Iterator[AgentChoice]:
    plain = {kind.name: kind for kind in agent_kinds() if not kind.needs_config}
    for row in _visible_configurations(user).order_by("-pk")[:MOST_STORED]:
        agent = AgentChoice(name=row.name, config=row.config)
        try:
            made = chosen_agent(agent)
        except NotRunnableError:
            continue
        kind = plain.get(row.name)
        # A kind as it is without a configuration is offered by its name.
        if kind is None or kind.make().describe() != made.describe():
            yield agent


def _visible_configurations(user: User) -> QuerySet[AgentConfiguration]:
    known = [kind.name for kind in agent_kinds()]
    rows = AgentConfiguration.objects.filter(name__in=known)
    hidden = run_policy().anonymous(user)
    if hidden is None:
        return rows
    its_runs = Run.objects.filter(agent=OuterRef("pk"))
    return rows.filter(Exists(its_runs.exclude(hidden)))
