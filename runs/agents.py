"""Rows of agent configurations: one for everything that makes an agent behave as it does."""

from __future__ import annotations

import hashlib

from runs.models import AgentConfiguration
from runs.records import stored_json
from webagent.trajectory.canonical import hashed_json
from webagent.trajectory.records import AgentRecord


def store_agent(agent: AgentRecord, models: tuple[str, ...] = ()) -> AgentConfiguration:
    """The row of this configuration; made if it is new. Equal content, equal row."""
    return AgentConfiguration.objects.get_or_create(
        config_hash=agent_hash(agent, models),
        defaults={
            "name": agent.name[:200],
            "version": (agent.version or "")[:100],
            "model": models[0][:200] if models else "",
            "model_names": list(models),
            "config": stored_json(agent).get("config", {}),
        },
    )[0]


def agent_hash(agent: AgentRecord, models: tuple[str, ...] = ()) -> str:
    """SHA-256 over name, version, configuration and models."""
    content = hashed_json({"agent": agent.model_dump(exclude_none=True), "models": list(models)})
    return hashlib.sha256(content).hexdigest()
