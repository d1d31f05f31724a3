"""The screenshot-only agents, made from a configuration of plain values."""

from __future__ import annotations

from pydantic import JsonValue

from webagent.agents.generic.models import asked_model
from webagent.agents.screen.agent import ScreenAgent
from webagent.agents.screen.captions import Captions
from webagent.agents.screen.scripted import ScreenScripted
from webagent.agents.screen.settings import ScreenSettings, SightSettings


def make_screen(**config: JsonValue) -> ScreenAgent:
    """An agent of this configuration, for one run.

    Raises:
        ValueError: the configuration does not fit, or its model cannot be asked here.
    """
    settings = ScreenSettings.model_validate(config)
    client, entry = asked_model(settings)
    captions = None
    if settings.captioner:
        _, seeing = asked_model(settings.model_copy(update={"model": settings.captioner}))
        # By the same client: one budget for all that the run asks.
        captions = Captions(client, seeing)
    return ScreenAgent(settings, client, entry, captions=captions)


def make_scripted(**config: JsonValue) -> ScreenScripted:
    """An agent without a model, for one run.

    Raises:
        ValueError: the configuration does not fit.
    """
    return ScreenScripted(SightSettings.model_validate(config))
