"""An agent with its configuration, on one line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress

from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy
from pydantic import BaseModel, JsonValue

from runs.models import HintLevel, HintRelatedness
from runs.models.agents import HINTS_KEY as HINTS
from webagent.agents.generic.agent import NAME as GENERIC
from webagent.agents.generic.settings import AgentSettings
from webagent.agents.screen.agent import NAME as SCREEN
from webagent.agents.screen.scripted import NAME as SCREEN_SCRIPTED
from webagent.agents.screen.settings import ScreenSettings, SightSettings
from webagent.recovery.retry_policy import AgentChoice

SAME_AGENT = pgettext_lazy("rerun with", "the same agent")
MAX_VALUE = 60
_SETTINGS: Mapping[str, type[BaseModel]] = {
    GENERIC: AgentSettings,
    SCREEN: ScreenSettings,
    SCREEN_SCRIPTED: SightSettings,
}


def agent_in_words(agent: AgentChoice | None) -> str:
    """Its name and what was set otherwise than by default; “the same agent” for None."""
    if agent is None:
        return str(SAME_AGENT)
    settings = said_settings(agent.name, agent.config)
    model = settings.pop("model", None)
    name = f"{agent.name} · {value_in_words(model)}" if model else agent.name
    said = [setting_in_words(key, value) for key, value in sorted(settings.items())]
    return f"{name} ({', '.join(said)})" if said else name


def said_settings(name: str, config: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """What of the configuration is set otherwise than by default."""
    defaults = _defaults(name)
    return {
        key: value for key, value in config.items() if key not in defaults or defaults[key] != value
    }


def _defaults(name: str) -> dict[str, JsonValue]:
    """The settings that need no word, since they are as they always are."""
    form = _SETTINGS.get(name)
    if form is None:
        return {}
    fields = form.model_fields.items()
    return {key: field.default for key, field in fields if not field.is_required()}


def setting_in_words(key: str, value: JsonValue) -> str:
    """`max_steps=4`; of hints which they are, since their key is none that a person reads."""
    if key == HINTS and isinstance(value, str):
        level, _between, rest = value.partition(".")
        with suppress(ValueError):  # a set of another origin keeps its key
            near = HintRelatedness(rest.partition(".")[0]).label
            return _("hints: %(level)s, %(relatedness)s") % {
                "level": HintLevel(level).label,
                "relatedness": near,
            }
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
