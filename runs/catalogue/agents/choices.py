"""The language models of this deployment, and agents in words and to choose from in forms."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Exists, OuterRef
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy
from pydantic import BaseModel, JsonValue

from runs.catalogue.agents.runnable import NotRunnableError, agent_choices, live_agent
from runs.interface.sentences import labelled, listed, worded
from runs.models import AgentConfiguration, HintLevel, HintRelatedness, Run, User
from runs.models.experiments import HINTS_KEY as HINTS
from runs.models.visibility import run_policy
from webagent.agents.generic.agent import NAME as GENERIC
from webagent.agents.registry import agent_kinds
from webagent.agents.screen.agent import NAME as SCREEN
from webagent.agents.screen.rules import NAME as SCREEN_SCRIPTED
from webagent.agents.settings import (
    BENCHMARK_ACTIONS,
    AgentSettings,
    ScreenSettings,
    VisionSettings,
)
from webagent.llm.interface import ModelFailure
from webagent.llm.registry import ModelEntry, Registry, RegistryError
from webagent.recovery.retry_policy import AgentChoice
from webagent.trajectory.canonical import json_digest


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


def usable_models() -> tuple[list[ModelOffer], str]:
    """The models that can be asked; where there are none, why, and what to do."""
    try:
        offered = offered_models()
    except ModelUnavailableError as error:
        return [], str(error)
    usable = [offer for offer in offered if not offer.missing]
    missing = " ".join(f"{offer.name}: {offer.missing}." for offer in offered)
    return usable, "" if usable else missing or how_to_configure()


def how_to_configure() -> str:
    """What to do so that there is a model to ask."""
    return _(
        "No language model is configured. Describe one in a file, name the file in MODELS_FILE, "
        "and start again."
    )


def usable_entry(name: str) -> ModelEntry:
    """The model of that name, if it can be asked.

    Raises:
        ModelUnavailableError: there is no file, no such model in it, or no key for it.
    """
    if settings.ENV.MODELS_FILE is None:
        raise ModelUnavailableError(how_to_configure())
    registry = model_registry()
    try:
        entry = registry.entry(name)
    except ModelFailure as failure:
        raise ModelUnavailableError(worded(str(failure))) from failure
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


SAME_AGENT = pgettext_lazy("rerun with", "the same agent")
MAX_VALUE = 60
BUDGET = "knowledge_tokens"
_SETTINGS: Mapping[str, type[BaseModel]] = {
    GENERIC: AgentSettings,
    SCREEN: ScreenSettings,
    SCREEN_SCRIPTED: VisionSettings,
}


def agent_in_words(agent: AgentChoice | None) -> str:
    """Its name and what was set otherwise than by default; “the same agent” for None."""
    if agent is None:
        return str(SAME_AGENT)
    settings = shown_settings(agent.name, agent.config)
    model = settings.pop("model", None)
    name = f"{agent.name} · {value_in_words(model)}" if model else agent.name
    said = [setting_in_words(key, value) for key, value in sorted(settings.items())]
    return f"{name} ({', '.join(said)})" if said else name


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


def usual_setting(name: str, key: str) -> JsonValue:
    """What a setting is that the configuration of such an agent does not name."""
    return _defaults(name).get(key)


def value_in_words(value: JsonValue) -> str:
    """A setting's value, cut where it is long; of web knowledge its name and how it is chosen."""
    if isinstance(value, dict) and "entries" in value and "set" in value:
        chosen = f", best {value.get('top')}" if value.get("select") == "relevant" else ""
        return f"{value['set']}{chosen}"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return Truncator("+".join(map(str, value))).chars(MAX_VALUE)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return Truncator(text).chars(MAX_VALUE)


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
    return f"{agent.name}-{json_digest(agent.model_dump(mode='json'))[:16]}"


def _stored_for(user: User) -> Iterator[AgentChoice]:
    plain = {kind.name: kind for kind in agent_kinds() if not kind.needs_config}
    rows = AgentConfiguration.objects.filter(name__in=[kind.name for kind in agent_kinds()])
    if (hidden := run_policy().anonymous(user)) is not None:
        shown = Run.objects.filter(agent=OuterRef("pk")).exclude(hidden)
        rows = rows.filter(Exists(shown))
    for row in rows.order_by("-pk")[:MOST_STORED]:
        agent = AgentChoice(name=row.name, config=row.config)
        try:
            made = live_agent(agent)
        except NotRunnableError:
            continue
        kind = plain.get(row.name)
        # A kind as it is without a configuration is offered by its name.
        if kind is None or kind.make().describe() != made.describe():
            yield agent
