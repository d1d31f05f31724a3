"""OpenAI's Chat Completions, as compatible servers speak them too: bodies and replies."""

from collections.abc import Iterable

from pydantic import Field, NonNegativeInt

from webagent.llm.failures import cut_stream
from webagent.llm.interface import Message, Request, TextPart, Usage
from webagent.llm.registry import ModelEntry, SchemaMode
from webagent.llm.wire import (
    CachedTokens,
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

_STOPS = {"length": Stop.LENGTH, "content_filter": Stop.REFUSED}


class _Usage(Shape):
    prompt_tokens: NonNegativeInt = 0
    completion_tokens: NonNegativeInt = 0
    prompt_tokens_details: CachedTokens | None = None


class _Words(Shape):
    content: str | None = None
    refusal: str | None = None


class _Choice(Shape):
    message: _Words
    finish_reason: str | None = None


class _Completion(Shape):
    model: str
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


class _PieceOfChoice(Shape):
    delta: _Words = _Words()
    finish_reason: str | None = None


class _Chunk(Shape):
    model: str = ""
    choices: list[_PieceOfChoice] = []
    usage: _Usage | None = None


def body(request: Request, entry: ModelEntry) -> JsonObject:
    """The body of `POST /chat/completions`."""
    messages = [_message(message) for message in request.messages]
    if system := system_text(request, entry):
        messages.insert(0, {"role": "system", "content": system})
    ours: JsonObject = {
        "model": entry.model,
        "messages": messages,
        entry.max_tokens_field: request.max_tokens,
    }
    if entry.streaming:
        ours["stream_options"] = {"include_usage": True}
    if entry.temperature and request.temperature is not None:
        ours["temperature"] = request.temperature
    if request.schema is not None and entry.schema_mode is SchemaMode.SCHEMA:
        ours["response_format"] = {
            "type": "json_schema",
            "json_schema": {
                "name": request.schema_name,
                "schema": dict(request.schema),
                "strict": True,
            },
        }
    if request.schema is not None and entry.schema_mode is SchemaMode.OBJECT:
        ours["response_format"] = {"type": "json_object"}
    return merged(entry.extra, ours)


def _message(message: Message) -> JsonObject:
    """Text alone goes as a plain string, which every compatible server understands."""
    if all(isinstance(part, TextPart) for part in message.parts):
        texts = [part.text for part in message.parts if isinstance(part, TextPart)]
        return {"role": message.role, "content": clean("\n".join(texts))}
    return {
        "role": message.role,
        "content": [
            {"type": "text", "text": clean(part.text)}
            if isinstance(part, TextPart)
            else {"type": "image_url", "image_url": {"url": data_url(part)}}
            for part in message.parts
        ],
    }


def read(content: bytes | JsonObject, name: str) -> RawReply:
    """What a whole completion says.

    Raises:
        ModelFailure: UNREADABLE.
    """
    completion = read_shape(_Completion, content, name)
    choice = completion.choices[0]
    return _raw_reply(
        choice.message.content or "",
        choice.message.refusal or "",
        choice.finish_reason,
        completion.model,
        completion.usage,
    )


def read_stream(chunks: Iterable[JsonObject], name: str) -> RawReply:
    """What a streamed completion says at its end.

    Raises:
        ModelFailure: it has no end, or is unreadable.
    """
    text: list[str] = []
    refusal: list[str] = []
    model, reason, usage = "", None, None
    for raw in chunks:
        chunk = read_shape(_Chunk, raw, name)
        model = chunk.model or model
        usage = chunk.usage or usage
        for choice in chunk.choices[:1]:
            text.append(choice.delta.content or "")
            refusal.append(choice.delta.refusal or "")
            reason = choice.finish_reason or reason
    if reason is None:
        raise cut_stream(name)
    return _raw_reply("".join(text), "".join(refusal), reason, model, usage)


def _raw_reply(
    text: str, refusal: str, reason: str | None, model: str, usage: _Usage | None
) -> RawReply:
    counted = usage or _Usage()
    details = counted.prompt_tokens_details or CachedTokens()
    return RawReply(
        text=refusal or text,
        model=model,
        usage=Usage(
            input_tokens=counted.prompt_tokens,
            output_tokens=counted.completion_tokens,
            cached_tokens=details.cached_tokens or 0,
            cache_write_tokens=details.cache_write_tokens or 0,
        ),
        stop=Stop.REFUSED if refusal else _STOPS.get(reason or "", Stop.DONE),
    )
