"""Which models there are: read from a file, nothing built in, no key in it."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    FilePath,
    HttpUrl,
    JsonValue,
    ValidationError,
    model_validator,
)

from webagent.llm.interface import FailureKind, ModelFailure
from webagent.measures import first_repeated

Price = Annotated[Decimal, Field(ge=0, allow_inf_nan=False)]
SAMPLING_VERSION = "2023-06-01"
"""The last version of Anthropic's API that takes a temperature."""


class ProviderName(StrEnum):
    OPENAI = "openai"
    ANTHROPIC = "anthropic"


class Api(StrEnum):
    RESPONSES = "responses"
    CHAT = "chat"
    MESSAGES = "messages"


class SchemaMode(StrEnum):
    """How a reply of a given form is asked for."""

    SCHEMA = "schema"
    """The API's own structured output."""
    TOOL = "tool"
    """A tool that the model is made to call (Anthropic)."""
    OBJECT = "object"
    """"Some JSON object", the schema in the system prompt (OpenAI and compatible)."""
    PROMPT = "prompt"
    """The schema in the system prompt and nothing else."""


BASE_URLS = {
    ProviderName.OPENAI: "https://api.openai.com/v1",
    ProviderName.ANTHROPIC: "https://api.anthropic.com",
}
_APIS = {ProviderName.OPENAI: (Api.RESPONSES, Api.CHAT), ProviderName.ANTHROPIC: (Api.MESSAGES,)}
_SCHEMA_MODES = {
    Api.RESPONSES: (SchemaMode.SCHEMA, SchemaMode.OBJECT, SchemaMode.PROMPT),
    Api.CHAT: (SchemaMode.SCHEMA, SchemaMode.OBJECT, SchemaMode.PROMPT),
    Api.MESSAGES: (SchemaMode.SCHEMA, SchemaMode.TOOL, SchemaMode.PROMPT),
}
_OURS = {"model", "messages", "input", "system", "instructions", "stream", "temperature", "n"}


class RegistryError(ValueError):
    """The file of models is wrong: the message names file, entry, field and reason."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Prices(_Part):
    """US dollars per million tokens. `cached` and `cache_write` absent: as `input`.

    `batch_factor`: what a request in a batch costs, as a share of one on its own.
    """

    input: Price
    output: Price
    cached: Price | None = None
    cache_write: Price | None = None
    batch_factor: Decimal = Field(Decimal(1), ge=0, le=1)


class ModelEntry(_Part):
    """One model, as the file of models describes it.

    `timeout_s` bounds a whole try, from the connection to the last byte. `max_image_tokens` is
    the most that one picture may count. `extra` goes into every request as it is.
    """

    name: str = Field(min_length=1, max_length=100)
    provider: ProviderName
    model: str = Field(min_length=1)
    api: Api
    base_url: HttpUrl
    api_key_env: str | None = Field(None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    context_tokens: int | None = Field(None, ge=1)
    prices: Prices | None = None
    max_concurrency: int = Field(4, ge=1, le=1000)
    timeout_s: float = Field(120.0, gt=0, le=3600)
    streaming: bool = False
    temperature: bool
    schema_mode: SchemaMode = SchemaMode.SCHEMA
    max_tokens_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    max_image_tokens: int = Field(6000, ge=1)
    api_version: str | None = Field(None, pattern=r"^\d{4}-\d{2}-\d{2}$")
    proxy: HttpUrl | None = None
    ca_file: FilePath | None = None
    extra: dict[str, JsonValue] = {}

    @model_validator(mode="before")
    @classmethod
    def _fill_in(cls, given: object) -> object:
        """What follows from the provider where the file says nothing."""
        if not isinstance(given, dict) or given.get("provider") not in list(ProviderName):
            return given
        provider = ProviderName(given["provider"])
        return {
            "base_url": BASE_URLS[provider],
            "api": _APIS[provider][0],
            "temperature": provider is ProviderName.OPENAI
            or given.get("api_version") == SAMPLING_VERSION,
        } | given

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.api not in _APIS[self.provider]:
            raise ValueError(f"api: {self.provider} has {' and '.join(_APIS[self.provider])}")
        if self.schema_mode not in _SCHEMA_MODES[self.api]:
            known = ", ".join(_SCHEMA_MODES[self.api])
            raise ValueError(f"schema_mode: the API {self.api} knows {known}")
        if self.api_version and self.provider is not ProviderName.ANTHROPIC:
            raise ValueError("api_version: only Anthropic's API has versions")
        if (
            self.provider is ProviderName.ANTHROPIC
            and self.temperature
            and self.api_version != SAMPLING_VERSION
        ):
            raise ValueError(
                f'temperature: only with api_version = "{SAMPLING_VERSION}";'
                " later versions refuse it"
            )
        if taken := sorted(_OURS & self.extra.keys()):
            raise ValueError(f"extra: {', '.join(taken)} is set by Crosscheck itself")
        return self

    def key(self, environment: Mapping[str, str]) -> str | None:
        """The key of this model; None where it needs none.

        Raises:
            ModelFailure: NOT_CONFIGURED, the variable is not set.
        """
        if self.api_key_env is None:
            return None
        if key := environment.get(self.api_key_env, "").strip():
            return key
        raise ModelFailure(
            FailureKind.NOT_CONFIGURED,
            f"{self.name}: the environment variable {self.api_key_env} is not set",
        )


class Registry:
    """The models by name, in the order of the file."""

    def __init__(self, entries: Mapping[str, ModelEntry] | None = None) -> None:
        self.entries = dict(entries or {})

    @classmethod
    def read(cls, path: Path) -> Registry:
        """The models of a TOML or JSON file: a table `models` with one table for each name.

        Raises:
            RegistryError: the file cannot be read or says something that makes no sense.
        """
        document = _document(path)
        unknown = sorted(document.keys() - {"models"})
        if unknown:
            raise RegistryError(
                f"{path}: {unknown[0]}: not known here; models are in [models.NAME]"
            )
        tables = document.get("models", {})
        if not isinstance(tables, dict):
            raise RegistryError(f"{path}: models: must be a table of models")
        return cls({name: _entry(path, name, table) for name, table in tables.items()})

    def entry(self, name: str) -> ModelEntry:
        """The model of this name.

        Raises:
            ModelFailure: NOT_CONFIGURED, there is none.
        """
        if found := self.entries.get(name):
            return found
        known = ", ".join(self.entries) or "none at all"
        raise ModelFailure(
            FailureKind.NOT_CONFIGURED,
            f"{name}: there is no such model in the file of models (it has {known})",
        )

    def missing_keys(self, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The models that cannot be asked yet, each with the variable that is not set."""
        return {
            name: entry.api_key_env
            for name, entry in self.entries.items()
            if entry.api_key_env and not environment.get(entry.api_key_env, "").strip()
        }


def _document(path: Path) -> dict[str, object]:
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            document = json.loads(text, object_pairs_hook=_without_repetition)
        else:
            document = tomllib.loads(text)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise RegistryError(f"{path}: cannot be read: {reason}") from None
    if not isinstance(document, dict):
        raise RegistryError(f"{path}: must be a table")
    return document


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if (twice := first_repeated(name for name, _ in pairs)) is not None:
        raise ValueError(f"{twice} appears twice")
    return table


def _entry(path: Path, name: str, table: object) -> ModelEntry:
    if not isinstance(table, dict):
        raise RegistryError(f"{path}: models.{name}: must be a table")
    try:
        return ModelEntry.model_validate(table | {"name": name})
    except ValidationError as error:
        raise RegistryError(f"{path}: models.{name}: {_reasons(error)}") from None


def _reasons(error: ValidationError) -> str:
    """Field and reason of each. No value is repeated: it may be a key in the wrong place."""
    reasons = []
    for item in error.errors(include_input=False, include_url=False, include_context=False):
        place = ".".join(map(str, item["loc"]))
        reason = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            reason = "there is no such field"
        if item["type"] == "missing":
            reason = "is missing"
        reasons.append(f"{place}: {reason}" if place else reason)
    return "; ".join(reasons)


PREFIX = "stub"


def is_stub(model: str) -> bool:
    """Whether whoever bears this model's name is a stand-in and no model."""
    return model.lower().startswith(PREFIX)
