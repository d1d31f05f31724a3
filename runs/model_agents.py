"""The generic agent with every language model that can be asked here, ready to be chosen."""

from __future__ import annotations

from runs.language_models import ModelUnavailableError, offered_models
from webagent.agents.generic.agent import NAME
from webagent.agents.generic.benchmarks import BENCHMARK_ACTIONS
from webagent.recovery.retry_policy import AgentChoice


def model_agents() -> dict[str, AgentChoice]:
    """By the model's name; none where no model can be asked. All settings are the usual ones."""
    try:
        models = offered_models()
    except ModelUnavailableError:
        return {}
    return {
        model.name: AgentChoice(name=NAME, config={"model": model.name})
        for model in models
        if not model.missing
    }


def for_task_set(agent: AgentChoice, task_set: str) -> AgentChoice:
    """The agent with the actions of a known benchmark, if the set `NAME VERSION` is of one."""
    name = task_set.partition(" ")[0]
    if name not in BENCHMARK_ACTIONS:
        return agent
    return agent.model_copy(update={"config": {**agent.config, "benchmark": name}})
