"""Rows of agent configurations: one for everything that makes an agent behave as it does."""

from __future__ import annotations

import hashlib

from runs.models import AgentConfiguration, KnowledgeSet
from runs.storage.records import stored_json
from webagent.trajectory.canonical import hashed_json
from webagent.trajectory.records import AgentRecord


def store_agent(agent: AgentRecord, models: tuple[str, ...] = ()) -> AgentConfiguration:
    """The row of this configuration; made if it is new. Equal content, equal row.

    Web knowledge that it has is frozen, so that the set that is named stays what agents had.
    """
    row, _created = AgentConfiguration.objects.get_or_create(
        config_hash=agent_hash(agent, models),
        defaults={
            "name": agent.name[:200],
            "version": (agent.version or "")[:100],
            "model": _model_name(agent, models)[:200],
            "model_names": list(models),
            "config": stored_json(agent).get("config", {}),
        },
    )
    if known := row.knowledge_hash:
        KnowledgeSet.objects.freeze(known)
    return row


def _model_name(agent: AgentRecord, models: tuple[str, ...]) -> str:
    """The model that pages tell the agent by: the first one that answered, or the one it names.

    Our own agents name theirs as the file of models does. It follows from what is hashed, and
    so is no part of the hash.
    """
    if models:
        return models[0]
    named = (agent.config or {}).get("model")
    return named if isinstance(named, str) else ""


def agent_hash(agent: AgentRecord, models: tuple[str, ...] = ()) -> str:
    """SHA-256 over name, version, configuration and models."""
    content = hashed_json({"agent": agent.model_dump(exclude_none=True), "models": list(models)})
    return hashlib.sha256(content).hexdigest()
