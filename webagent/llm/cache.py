"""Replies that were given before: by what key they are known, and what keeps them."""

import hashlib
import json
from typing import Protocol

from webagent.llm.interface import Message, Reply, Request, TextPart
from webagent.llm.registry import ModelEntry

_VERSION = 1


class ReplyCache(Protocol):
    """Keeps replies by key. Failures are never given to it. Threads share it."""

    def get(self, key: str) -> Reply | None:
        """The reply as it was put, or None."""
        ...

    def put(self, key: str, reply: Reply) -> None: ...


def cache_key(request: Request, entry: ModelEntry) -> str:
    """SHA-256 (hex) of all that shapes the reply to this request from this model.

    The name of the entry, prices, limits and whether the reply is streamed do not shape it.
    """
    shaping = {
        "version": _VERSION,
        "provider": entry.provider,
        "api": entry.api,
        "api_version": entry.api_version,
        "base_url": str(entry.base_url),
        "model": entry.model,
        "schema_mode": entry.schema_mode,
        "takes_temperature": entry.temperature,
        "extra": entry.extra,
        "system": request.system,
        "messages": [_message(message) for message in request.messages],
        "schema": None if request.schema is None else dict(request.schema),
        "schema_name": request.schema_name,
        "max_tokens": request.max_tokens,
        "temperature": None if request.temperature is None else float(request.temperature),
    }
    text = json.dumps(shaping, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _message(message: Message) -> list[object]:
    return [
        message.role,
        [
            ["text", part.text]
            if isinstance(part, TextPart)
            else [part.media_type, hashlib.sha256(part.data).hexdigest()]
            for part in message.parts
        ],
    ]
