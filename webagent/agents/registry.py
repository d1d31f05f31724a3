"""Agents by name, made from a configuration of plain JSON values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue, ValidationError

from webagent.agents.agent import Agent
from webagent.agents.generic.agent import NAME as GENERIC
from webagent.agents.generic.models import make_generic
from webagent.agents.librarian import Librarian
from webagent.agents.screen.agent import NAME as SCREEN
from webagent.agents.screen.agent import make_screen, make_scripted
from webagent.agents.screen.scripted import NAME as SCREEN_SCRIPTED
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
from webagent.field_errors import field_errors


class UnknownAgent(LookupError):
    """There is no agent of that name."""


class BadAgentConfig(ValueError):
    """The configuration does not fit the agent; the message says which part."""


@dataclass(frozen=True, slots=True)
class AgentKind:
    """An agent that can be made.

    `make` takes the configuration as keyword arguments, and refuses what does not fit with a
    TypeError or ValueError. `needs_config`: there is none without a configuration.
    """

    name: str
    summary: str
    make: Callable[..., Agent]
    needs_config: bool = False


_KINDS = {
    kind.name: kind
    for kind in (
        AgentKind("oracle", "Solves MiniWoB++ tasks that it knows by reading the page.", Oracle),
        AgentKind("librarian", "Answers the questions of the Larkfield site.", Librarian),
        AgentKind("looping", "Repeats one action that changes nothing.", Looping),
        AgentKind("stuck", "Sets out as told, then goes round and round.", Stuck),
        AgentKind("early_finisher", "Declares the task done at once.", EarlyFinisher),
        AgentKind("wrong", "Clicks on something plausible that nobody asked for.", Wrong),
        AgentKind("do_nothing", "Control: only waits.", DoNothing),
        AgentKind("always_na", "Control: answers N/A to everything.", AlwaysNotAvailable),
        AgentKind("list_everything", "Control: answers with all the page says.", ListEverything),
        AgentKind("replayer", "Repeats recorded actions.", Replayer, needs_config=True),
        AgentKind(GENERIC, "Asks a language model for each action.", make_generic, True),
        AgentKind(
            SCREEN,
            "Asks a language model, which is told what stands on the screenshot and no more.",
            make_screen,
            needs_config=True,
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
    try:
        return _KINDS[name].make(**(config or {}))
    except (TypeError, ValueError) as error:
        raise BadAgentConfig(
            f"The configuration does not fit the agent {name!r}: {_in_one_line(error)}"
        ) from error


def _in_one_line(error: TypeError | ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(map(str, field_errors(error)))
