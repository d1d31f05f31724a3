"""OpenAI's Responses API: the body of a request, and what a reply says."""

from collections.abc import Iterable

from pydantic import NonNegativeInt

from webagent.llm.failures import cut_stream, failure_of_words
from webagent.llm.interface import Message, Request, TextPart, Usage
from webagent.llm.registry import ModelEntry, SchemaMode
from webagent.llm.wire import (
    CachedTokens,
    ErrorShape,
    JsonObject,
    RawReply,
    Shape,
    Stop,
    clean,
    data_url,
    merged,
    read_shape,
    system_text,
)

_LEAST_OUTPUT_TOKENS = 16
"""The API takes no smaller limit."""


class _Usage(Shape):
    input_tokens: NonNegativeInt = 0
    output_tokens: NonNegativeInt = 0
    input_tokens_details: CachedTokens | None = None


class _Part(Shape):
    type: str
    text: str = ""
    refusal: str = ""


class _Item(Shape):
    type: str
    content: list[_Part] | None = None


class _Incomplete(Shape):
    reason: str | None = None


class _Response(Shape):
    model: str
    status: str | None = None
    output: list[_Item]
    usage: _Usage | None = None
    error: ErrorShape | None = None
    incomplete_details: _Incomplete | None = None


class _Event(Shape):
    type: str
    response: dict[str, object] = {}
    code: str | None = None
    message: str | None = None


def body(request: Request, entry: ModelEntry) -> JsonObject:
    """The body of `POST /responses`. Nothing is kept at the provider (`store`)."""
    ours: JsonObject = {
        "model": entry.model,
        "input": [_message(message) for message in request.messages],
        "max_output_tokens": max(request.max_tokens, _LEAST_OUTPUT_TOKENS),
        "store": False,
    }
    if system := system_text(request, entry):
        ours["instructions"] = system
    if entry.temperature and request.temperature is not None:
        ours["temperature"] = request.temperature
    if request.schema is not None and entry.schema_mode is SchemaMode.SCHEMA:
        ours["text"] = {
            "format": {
                "type": "json_schema",
                "name": request.schema_name,
                "schema": dict(request.schema),
                "strict": True,
            }
        }
    if request.schema is not None and entry.schema_mode is SchemaMode.OBJECT:
        ours["text"] = {"format": {"type": "json_object"}}
    return merged(entry.extra, ours)


def _message(message: Message) -> JsonObject:
    text_type = "input_text" if message.role == "user" else "output_text"
    return {
        "role": message.role,
        "content": [
            {"type": text_type, "text": clean(part.text)}
            if isinstance(part, TextPart)
            else {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
            for part in message.parts
        ],
    }


def read(content: bytes | JsonObject, name: str, key: str | None) -> RawReply:
    """What a whole response says.

    Raises:
        ModelFailure: it is unreadable, or says that it failed.
    """
    response = read_shape(_Response, content, name)
    usage = _usage(response.usage or _Usage())
    if response.error is not None or response.status == "failed":
        error = response.error or ErrorShape(message="no reason given")
        raise failure_of_words(name, error.message, error.code or "", key, usage=usage)
    parts = [part for item in response.output for part in item.content or []]
    refusal = "".join(part.refusal for part in parts if part.type == "refusal")
    text = "".join(part.text for part in parts if part.type == "output_text")
    stop = Stop.DONE
    if response.status == "incomplete":
        reason = response.incomplete_details.reason if response.incomplete_details else None
        stop = Stop.REFUSED if reason == "content_filter" else Stop.LENGTH
    if refusal:
        stop, text = Stop.REFUSED, refusal
    return RawReply(text=text, model=response.model, usage=usage, stop=stop)


def _usage(usage: _Usage) -> Usage:
    details = usage.input_tokens_details or CachedTokens()
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=details.cached_tokens or 0,
        cache_write_tokens=details.cache_write_tokens or 0,
    )


def read_stream(events: Iterable[JsonObject], name: str, key: str | None) -> RawReply:
    """What a streamed response says at its end.

    Raises:
        ModelFailure: there is no end, or it says that it failed.
    """
    for raw in events:
        event = read_shape(_Event, raw, name)
        if event.type in ("response.completed", "response.incomplete", "response.failed"):
            return read(event.response, name, key)
        if event.type == "error":
            raise failure_of_words(name, event.message or "", event.code or "", key)
    raise cut_stream(name)
