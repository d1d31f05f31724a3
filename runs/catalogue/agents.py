"""Agents: the rows of their configurations, made for a run, and their settings in words."""

import json
from collections.abc import Mapping
from contextlib import suppress

from django.utils.text import Truncator
from django.utils.translation import gettext as _
from pydantic import BaseModel, JsonValue

from runs.interface.sentences import labelled, listed, worded
from runs.models import AgentConfiguration, HintLevel, HintRelatedness, KnowledgeSet
from runs.models.experiments import HINTS_KEY as HINTS
from webagent.agents.agent import Agent
from webagent.agents.generic.agent import NAME as GENERIC
from webagent.agents.registry import BadAgentConfig, UnknownAgent, make_agent
from webagent.agents.screen.agent import NAME as SCREEN
from webagent.agents.screen.rules import NAME as SCREEN_SCRIPTED
from webagent.agents.settings import AgentSettings, ScreenSettings, VisionSettings
from webagent.recovery.retry_policy import AgentChoice
from webagent.trajectory.canonical import json_digest, plain_json
from webagent.trajectory.records import AgentRecord, Json

MAX_VALUE = 60
BUDGET = "knowledge_tokens"
_SETTINGS: Mapping[str, type[BaseModel]] = {
    GENERIC: AgentSettings,
    SCREEN: ScreenSettings,
    SCREEN_SCRIPTED: VisionSettings,
}


class NotRunnableError(Exception):
    """The run cannot be carried out here; the message says what is missing."""


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
            "config": plain_json(agent).get("config", {}),
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
    return json_digest({"agent": agent.model_dump(exclude_none=True), "models": list(models)})


def live_agent(agent: AgentConfiguration | AgentChoice) -> Agent:
    """A new agent of this configuration, or as a policy names it, for one run.

    Raises:
        NotRunnableError: it cannot run here.
    """
    return agent_named(agent.name, agent.config)


def agent_named(name: str, config: Json) -> Agent:
    """The same by name and configuration.

    Raises:
        NotRunnableError: it cannot run here.
    """
    try:
        return make_agent(name, config)
    except UnknownAgent:
        raise NotRunnableError(
            _(
                "The agent %(name)s came with an import and cannot run here. "
                "Choose one of the agents that can."
            )
            % {"name": name}
        ) from None
    except BadAgentConfig as error:
        raise NotRunnableError(worded(str(error))) from None


def shown_settings(name: str, config: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """What of the configuration is set otherwise than by default."""
    defaults = _defaults(name)
    return {
        key: value for key, value in config.items() if key not in defaults or defaults[key] != value
    }


def _defaults(name: str) -> dict[str, JsonValue]:
    """Settings at their defaults, which need no mention."""
    form = _SETTINGS.get(name)
    if form is None:
        return {}
    fields = form.model_fields.items()
    return {key: field.default for key, field in fields if not field.is_required()}


def usual_setting(name: str, key: str) -> JsonValue:
    """What a setting is that the configuration of such an agent does not name."""
    return _defaults(name).get(key)


def setting_in_words(key: str, value: JsonValue) -> str:
    """`max_steps=4`; a hint set in words, since its key is not readable."""
    if key == HINTS and isinstance(value, str):
        level, _between, rest = value.partition(".")
        with suppress(ValueError):  # a set of another origin keeps its key
            near = HintRelatedness(rest.partition(".")[0]).label
            return labelled(_("hints"), listed([HintLevel(level).label, near]))
    if key == BUDGET and value is None:
        return _("all web knowledge, no budget")
    return f"{key}={value_in_words(value)}"


def value_in_words(value: JsonValue) -> str:
    """A setting's value, cut where it is long; of web knowledge its name and how it is chosen."""
    if isinstance(value, dict) and "entries" in value and "set" in value:
        chosen = f", best {value.get('top')}" if value.get("select") == "relevant" else ""
        return f"{value['set']}{chosen}"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return Truncator("+".join(map(str, value))).chars(MAX_VALUE)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Truncator(text).chars(MAX_VALUE)
