"""Agents by name, made from a configuration of plain JSON values, and where they find models."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue, ValidationError

from webagent.agents.agent import Agent, Limitable
from webagent.agents.errands.people import Resident, Visitor
from webagent.agents.generic.agent import NAME as GENERIC
from webagent.agents.generic.agent import GenericAgent
from webagent.agents.screen.agent import NAME as SCREEN
from webagent.agents.screen.agent import Captions, ScreenAgent
from webagent.agents.screen.rules import NAME as SCREEN_SCRIPTED
from webagent.agents.screen.rules import ScreenScripted
from webagent.agents.scripted import (
    AlwaysNotAvailable,
    DoNothing,
    EarlyFinisher,
    ListEverything,
    Looping,
    Oracle,
    Replayer,
    Stuck,
    Wrong,
)
from webagent.agents.settings import MOST_STEPS, AgentSettings, ScreenSettings, VisionSettings
from webagent.llm.budget import Budget
from webagent.llm.client import Client
from webagent.llm.interface import ModelFailure
from webagent.llm.registry import ModelEntry, Registry
from webagent.trajectory.values import field_errors


class BadAgentConfig(ValueError):
    """The configuration does not fit the agent; the message says which part."""


class ModelUnavailable(BadAgentConfig):
    """A model cannot be asked here; the message says what is missing."""


class ModelFile:
    """A file of models, read again when it changes. Threads may share it."""

    def __init__(self, find: Callable[[], Path | None]) -> None:
        self._find = find
        self._lock = threading.Lock()
        self._known: tuple[Path, int, int] | None = None
        self._client: Client | None = None

    def client(self) -> Client:
        """The client for all models of the file.

        Raises:
            ModelUnavailable: there is no file.
            RegistryError: it is wrong.
        """
        path = self._find()
        if path is None:
            raise ModelUnavailable(
                "No language model is configured. Describe one in a file, name the file in"
                " MODELS_FILE, and start again."
            )
        with self._lock:
            # Without the file, `Registry.read` says so.
            state = path.stat() if path.is_file() else None
            known = (path, state.st_mtime_ns, state.st_size) if state else None
            if self._client is None or known is None or known != self._known:
                # Runs under way keep the client that they began with.
                self._client = Client(Registry.read(path))
                self._known = known
            return self._client


_shared = ModelFile(lambda: None)


def use_models_file(find: Callable[[], Path | None]) -> None:
    """From now on agents find their models in the file that `find` returns."""
    global _shared  # one for the process, as the agents' kinds are
    _shared = ModelFile(find)


def make_generic(**config: JsonValue) -> GenericAgent:
    """A generic agent of this configuration, for one run."""
    settings = AgentSettings.model_validate(config)
    return GenericAgent(settings, *asked_model(settings))


def make_screen(**config: JsonValue) -> ScreenAgent:
    """An agent of this configuration, for one run."""
    settings = ScreenSettings.model_validate(config)
    client, entry = asked_model(settings)
    captions = None
    if settings.captioner:
        _, seeing = asked_model(settings.model_copy(update={"model": settings.captioner}))
        # By the same client: one budget for all that the run asks.
        captions = Captions(client, seeing)
    return ScreenAgent(settings, client, entry, captions=captions)


def make_scripted(**config: JsonValue) -> ScreenScripted:
    """An agent without a model, for one run."""
    return ScreenScripted(VisionSettings.model_validate(config))


def asked_model(settings: AgentSettings | ScreenSettings) -> tuple[Client, ModelEntry]:
    """What asks the model of these settings, and its entry in the file of models.

    Raises:
        ModelUnavailable: it cannot be asked here.
    """
    client = _shared.client()
    try:
        entry = client.registry.entry(settings.model)
    except ModelFailure as failure:
        raise ModelUnavailable(str(failure)) from None
    if variable := client.registry.missing_keys().get(settings.model):
        raise ModelUnavailable(
            f"{settings.model} cannot be asked: the environment variable {variable} is not set."
        )
    longest = settings.longest_reply_tokens
    if entry.context_tokens is not None and entry.context_tokens <= longest:
        raise ModelUnavailable(
            f"max_reply_tokens: {settings.model} has a context of {entry.context_tokens} tokens,"
            f" which leaves no room for a prompt beside a reply of {longest}"
        )
    if settings.max_cost is not None:
        if entry.prices is None:
            raise ModelUnavailable(
                f"max_cost: the prices of {settings.model} are not in the file of models"
            )
        client = client.with_limits(budget=Budget(settings.max_cost), cache=None)
    return client, entry


class UnknownAgent(LookupError):
    """There is no agent of that name."""


@dataclass(frozen=True, slots=True)
class AgentKind:
    """An agent that can be made.

    `make` takes the configuration as keyword arguments, and refuses what does not fit with a
    TypeError or ValueError. `needs_config`: there is none without a configuration.
    `limits_itself`: `max_steps` is one of its own settings.
    """

    name: str
    summary: str
    make: Callable[..., Agent]
    needs_config: bool = False
    limits_itself: bool = False


_KINDS = {
    kind.name: kind
    for kind in (
        AgentKind("oracle", "Solves MiniWoB++ tasks that it knows by reading the page.", Oracle),
        AgentKind("looping", "Repeats one action that changes nothing.", Looping),
        AgentKind("stuck", "Sets out as told, then goes round and round.", Stuck),
        AgentKind("early_finisher", "Declares the task done at once.", EarlyFinisher),
        AgentKind("wrong", "Clicks on something plausible that nobody asked for.", Wrong),
        AgentKind("do_nothing", "Control: only waits.", DoNothing),
        AgentKind("always_na", "Control: answers N/A to everything.", AlwaysNotAvailable),
        AgentKind("list_everything", "Control: answers with all the page says.", ListEverything),
        AgentKind("resident", "Serves the tasks of the Larkfield sites.", Resident),
        AgentKind("visitor", "Goes by the words of the goal and by its hints.", Visitor),
        AgentKind("replayer", "Repeats recorded actions.", Replayer, needs_config=True),
        AgentKind(GENERIC, "Asks a language model for each action.", make_generic, True, True),
        AgentKind(
            SCREEN,
            "Asks a language model, which is told what stands on the screenshot and no more.",
            make_screen,
            needs_config=True,
            limits_itself=True,
        ),
        AgentKind(
            SCREEN_SCRIPTED,
            "Solves simple tasks by rules, from the goal and the screenshot alone.",
            make_scripted,
        ),
    )
}


def register_agent(kind: AgentKind) -> None:
    """From now on the agent can be made by its name."""
    _KINDS[kind.name] = kind


def agent_kinds() -> tuple[AgentKind, ...]:
    """Every agent that can be made, by name."""
    return tuple(_KINDS[name] for name in sorted(_KINDS))


def make_agent(name: str, config: Mapping[str, JsonValue] | None = None) -> Agent:
    """A new agent, for one run.

    Raises:
        UnknownAgent: there is none of that name.
        BadAgentConfig: the configuration has a key or a value that it does not take.
    """
    if name not in _KINDS:
        known = ", ".join(sorted(_KINDS))
        raise UnknownAgent(f"There is no agent {name!r}. There are: {known}.")
    kind, settings = _KINDS[name], dict(config or {})
    limit = None if kind.limits_itself else settings.pop("max_steps", None)
    try:
        agent = kind.make(**settings)
        if limit is not None:
            _limit_steps(agent, limit)
        return agent
    except BadAgentConfig:
        raise
    except (TypeError, ValueError) as error:
        fields = field_errors(error) if isinstance(error, ValidationError) else [error]
        raise BadAgentConfig(
            f"The configuration does not fit the agent {name!r}: {'; '.join(map(str, fields))}"
        ) from error


def _limit_steps(agent: Agent, limit: JsonValue) -> None:
    """Raises ValueError where the agent's description cannot name a limit, or it is none."""
    if not isinstance(agent, Limitable):
        raise ValueError("max_steps: it takes no step limit")
    if not isinstance(limit, int) or isinstance(limit, bool) or not 1 <= limit <= MOST_STEPS:
        raise ValueError(f"max_steps: it must be a whole number from 1 to {MOST_STEPS}")
    agent.limit_steps(limit)
