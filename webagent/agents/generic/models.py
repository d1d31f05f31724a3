"""Where agents find their models: one client for all agents of a process, from a file."""

from __future__ import annotations

import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from webagent.agents.generic.agent import GenericAgent
from webagent.agents.generic.settings import AgentSettings
from webagent.llm.budget import Budget
from webagent.llm.client import Client
from webagent.llm.interface import ModelFailure
from webagent.llm.registry import ModelEntry, Registry

FindFile = Callable[[], Path | None]


class ModelUnavailable(ValueError):
    """A model cannot be asked here; the message says what is missing."""


class ModelSettings(Protocol):
    """What an agent's settings say of its model."""

    @property
    def model(self) -> str: ...

    @property
    def max_reply_tokens(self) -> int: ...

    @property
    def max_cost(self) -> Decimal | None: ...


class ModelFile:
    """A file of models, read again when it changes. Threads may share it."""

    def __init__(self, find: FindFile) -> None:
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
                "no language model is configured: describe one in a file and name the file in"
                " MODELS_FILE (docs/models.md)"
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


_NO_FILE = ModelFile(lambda: None)
_shared = _NO_FILE


def use_models_file(find: FindFile) -> None:
    """From now on agents find their models in the file that `find` returns."""
    global _shared  # noqa: PLW0603 (one for the process, as the agents' kinds are)
    _shared = ModelFile(find)


def make_generic(**config: JsonValue) -> GenericAgent:
    """A generic agent of this configuration, for one run.

    Raises:
        ValueError: the configuration does not fit, or its model cannot be asked here.
    """
    settings = AgentSettings.model_validate(config)
    return GenericAgent(settings, *asked_model(settings))


def asked_model(settings: ModelSettings) -> tuple[Client, ModelEntry]:
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
            f"{settings.model} cannot be asked: the environment variable {variable} is not set"
        )
    if entry.context_tokens is not None and entry.context_tokens <= settings.max_reply_tokens:
        raise ModelUnavailable(
            f"max_reply_tokens: {settings.model} has a context of {entry.context_tokens} tokens,"
            f" which leaves no room for a prompt beside a reply of {settings.max_reply_tokens}"
        )
    if settings.max_cost is not None:
        if entry.prices is None:
            raise ModelUnavailable(
                f"max_cost: the prices of {settings.model} are not in the file of models"
            )
        client = client.with_limits(budget=Budget(settings.max_cost), cache=None)
    return client, entry
