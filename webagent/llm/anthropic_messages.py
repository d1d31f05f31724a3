"""Anthropic's Messages API: the body of a request, and what a reply says."""

import json
from collections.abc import Iterable

from pydantic import NonNegativeInt

from webagent.llm.failures import cut_stream, unreadable
from webagent.llm.interface import Message, Request, TextPart, Usage
from webagent.llm.registry import ModelEntry, SchemaMode
from webagent.llm.wire import (
    JsonObject,
    RawReply,
    Shape,
    Stop,
    base64_of,
    clean,
    merged,
    read_shape,
    system_text,
)
from webagent.trajectory.values import items

_KEEP: JsonObject = {"type": "ephemeral"}
_STOPS = {
    "end_turn": Stop.DONE,
    "stop_sequence": Stop.DONE,
    "tool_use": Stop.DONE,
    "max_tokens": Stop.LENGTH,
    "refusal": Stop.REFUSED,
    "model_context_window_exceeded": Stop.CONTEXT,
}


class _Usage(Shape):
    input_tokens: NonNegativeInt | None = None
    output_tokens: NonNegativeInt | None = None
    cache_read_input_tokens: NonNegativeInt | None = None
    cache_creation_input_tokens: NonNegativeInt | None = None


class _Block(Shape):
    type: str
    text: str = ""
    input: dict[str, object] | None = None


class _Message(Shape):
    model: str
    content: list[_Block] = []
    stop_reason: str | None = None
    usage: _Usage = _Usage()


class _Delta(Shape):
    text: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class _Event(Shape):
    type: str
    message: _Message | None = None
    delta: _Delta = _Delta()
    usage: _Usage = _Usage()


def body(request: Request, entry: ModelEntry) -> JsonObject:
    """The body of `POST /v1/messages`."""
    messages = [_message(message) for message in request.messages]
    system: list[JsonObject] = []
    if text := system_text(request, entry):
        system.append({"type": "text", "text": text})
    if request.is_prefix_cached and _writes_are_priced(entry):
        prefix = items(messages[-2]["content"]) if len(messages) > 1 else system
        if prefix:
            prefix[-1]["cache_control"] = _KEEP
    ours: JsonObject = {
        "model": entry.model,
        "max_tokens": request.max_tokens,
        "messages": messages,
    }
    if system:
        ours["system"] = system
    if entry.temperature and request.temperature is not None:
        ours["temperature"] = request.temperature
    if request.schema is not None and entry.schema_mode is SchemaMode.SCHEMA:
        ours["output_config"] = {"format": {"type": "json_schema", "schema": dict(request.schema)}}
    if request.schema is not None and entry.schema_mode is SchemaMode.TOOL:
        tool = {
            "name": request.schema_name,
            "description": "Record the reply.",
            "input_schema": dict(request.schema),
        }
        ours["tools"] = [tool]
        ours["tool_choice"] = {"type": "tool", "name": request.schema_name}
    return merged(entry.extra, ours)


def _writes_are_priced(entry: ModelEntry) -> bool:
    """Whether writing to the provider's cache leaves the cost of a call as known as it was."""
    return entry.prices is None or entry.prices.cache_write is not None


def _message(message: Message) -> JsonObject:
    """Empty texts are left out: the API refuses them."""
    blocks: list[JsonObject] = []
    for part in message.parts:
        if not isinstance(part, TextPart):
            source = {"type": "base64", "media_type": part.media_type, "data": base64_of(part)}
            blocks.append({"type": "image", "source": source})
        elif part.text.strip():
            blocks.append({"type": "text", "text": clean(part.text)})
    return {"role": message.role, "content": blocks}


def read(content: bytes | JsonObject, name: str) -> RawReply:
    """What a whole message says; the input of a forced tool is its text, as JSON.

    Raises:
        ModelFailure: UNREADABLE.
    """
    message = read_shape(_Message, content, name)
    texts = [block.text for block in message.content if block.type == "text"]
    inputs = [
        json.dumps(block.input, ensure_ascii=False)
        for block in message.content
        if block.type == "tool_use"
    ]
    return RawReply(
        text=inputs[0] if inputs else "".join(texts),
        model=message.model,
        usage=_usage(message.usage),
        stop=_stop(message.stop_reason, name),
    )


def _stop(reason: str | None, name: str) -> Stop:
    stop = _STOPS.get(reason or "")
    if stop is None:
        raise unreadable(name, f"it stopped for the unknown reason {reason!r}")
    return stop


def _usage(usage: _Usage) -> Usage:
    """In the words of the API, cached tokens are not part of `input_tokens`; in ours they are."""
    read_, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return Usage(
        input_tokens=(usage.input_tokens or 0) + read_ + written,
        output_tokens=usage.output_tokens or 0,
        cached_tokens=read_,
        cache_write_tokens=written,
    )


def read_stream(events: Iterable[JsonObject], name: str) -> RawReply:
    """What a streamed message says at its end.

    Raises:
        ModelFailure: it has no end, or is unreadable.
    """
    texts: list[str] = []
    inputs: list[str] = []
    model, reason = "", None
    usage: dict[str, object] = {}
    for raw in events:
        event = read_shape(_Event, raw, name)
        if event.message is not None:
            model = event.message.model
            usage |= event.message.usage.model_dump(exclude_none=True)
        usage |= event.usage.model_dump(exclude_none=True)
        texts.append(event.delta.text)
        inputs.append(event.delta.partial_json)
        reason = event.delta.stop_reason or reason
        if event.type == "message_stop":
            return RawReply(
                text="".join(inputs) or "".join(texts),
                model=model,
                usage=_usage(_Usage.model_validate(usage)),
                stop=_stop(reason, name),
            )
    raise cut_stream(name)
