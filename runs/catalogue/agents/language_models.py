"""The language models of this deployment: which there are, and what is missing to ask them."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.utils.translation import gettext as _

from webagent.agents.generic.agent import NAME as GENERIC
from webagent.agents.generic.settings import BENCHMARK_ACTIONS
from webagent.agents.screen.agent import NAME as SCREEN
from webagent.llm.interface import ModelFailure
from webagent.llm.registry import ModelEntry, Registry, RegistryError
from webagent.recovery.retry_policy import AgentChoice


class ModelUnavailableError(Exception):
    """A model cannot be asked here; the message says what to do about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOffer:
    """One model to choose from. `missing`: why it cannot be asked yet; empty if it can."""

    name: str
    entry: ModelEntry
    missing: str

    @property
    def has_price(self) -> bool:
        return self.entry.prices is not None


def model_registry() -> Registry:
    """The models of the file that the settings name; none where they name none.

    Raises:
        ModelUnavailableError: the file is wrong.
    """
    if settings.ENV.MODELS_FILE is None:
        return Registry()
    try:
        return Registry.read(settings.ENV.MODELS_FILE)
    except RegistryError as error:
        raise ModelUnavailableError(str(error)) from error


def offered_models() -> list[ModelOffer]:
    """Every model of the file, in its order.

    Raises:
        ModelUnavailableError: the file is wrong.
    """
    registry = model_registry()
    missing = registry.missing_keys()
    return [
        ModelOffer(
            name=name,
            entry=entry,
            missing=_("the environment variable %(name)s is not set") % {"name": missing[name]}
            if name in missing
            else "",
        )
        for name, entry in registry.entries.items()
    ]


def usable_entry(name: str) -> ModelEntry:
    """The model of that name, if it can be asked.

    Raises:
        ModelUnavailableError: there is no file, no such model in it, or no key for it.
    """
    if settings.ENV.MODELS_FILE is None:
        raise ModelUnavailableError(
            _(
                "No language model is configured. Describe one in a file, name the file in "
                "MODELS_FILE, and start again."
            )
        )
    registry = model_registry()
    try:
        entry = registry.entry(name)
    except ModelFailure as failure:
        raise ModelUnavailableError(str(failure)) from failure
    if variable := registry.missing_keys().get(name):
        raise ModelUnavailableError(
            _("%(model)s cannot be asked: the environment variable %(name)s is not set.")
            % {"model": name, "name": variable}
        )
    return entry


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
