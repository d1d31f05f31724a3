"""The agents that ask a model, with every one that can be asked here, ready to be chosen."""

from __future__ import annotations

from runs.catalogue.agents.language_models import ModelUnavailableError, offered_models
from webagent.agents.generic.agent import NAME as GENERIC
from webagent.agents.generic.benchmarks import BENCHMARK_ACTIONS
from webagent.agents.screen.agent import NAME as SCREEN
from webagent.recovery.retry_policy import AgentChoice


def model_agents() -> dict[str, AgentChoice]:
    """By the model's name, behind the agent's own if it is not the generic one.

    None where no model can be asked. All settings are the usual ones.
    """
    try:
        models = [model.name for model in offered_models() if not model.missing]
    except ModelUnavailableError:
        return {}
    prefixes = {GENERIC: "", SCREEN: f"{SCREEN}:"}
    return {
        f"{prefix}{model}": AgentChoice(name=agent, config={"model": model})
        for agent, prefix in prefixes.items()
        for model in models
    }


def for_task_set(agent: AgentChoice, task_set: str) -> AgentChoice:
    """The agent with the actions of a known benchmark, if the set `NAME VERSION` is of one."""
    name = task_set.partition(" ")[0]
    if agent.name != GENERIC or name not in BENCHMARK_ACTIONS:
        return agent
    return agent.model_copy(update={"config": {**agent.config, "benchmark": name}})
