"""OpenAI's two APIs: the bodies of requests, and what replies say.

Chat Completions are what compatible servers speak too; Responses are OpenAI's own.
"""

from collections.abc import Iterable, Mapping

from pydantic import Field, NonNegativeInt

from webagent.llm.failures import cut_stream, failure_of_words
from webagent.llm.interface import ImagePart, Message, Request, TextPart, Usage
from webagent.llm.registry import ModelEntry, SchemaMode
from webagent.llm.wire import (
    ErrorShape,
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


class _CachedTokens(Shape):
    """How both tell what their cache had a part in."""

    cached_tokens: NonNegativeInt | None = None
    cache_write_tokens: NonNegativeInt | None = None


def _counted(read: int, said: int, cached: _CachedTokens | None) -> Usage:
    of_cache = cached or _CachedTokens()
    return Usage(
        input_tokens=read,
        output_tokens=said,
        cached_tokens=of_cache.cached_tokens or 0,
        cache_write_tokens=of_cache.cache_write_tokens or 0,
    )


def _schema(name: str, schema: Mapping[str, object]) -> JsonObject:
    return {"name": name, "schema": dict(schema), "strict": True}


def _data_url(image: ImagePart) -> str:
    return f"data:{image.media_type};base64,{base64_of(image)}"


_STOPS = {"length": Stop.LENGTH, "content_filter": Stop.REFUSED}


class _ChatUsage(Shape):
    prompt_tokens: NonNegativeInt = 0
    completion_tokens: NonNegativeInt = 0
    prompt_tokens_details: _CachedTokens | None = None

    @property
    def counted(self) -> Usage:
        return _counted(self.prompt_tokens, self.completion_tokens, self.prompt_tokens_details)


class _Words(Shape):
    content: str | None = None
    refusal: str | None = None


class _Choice(Shape):
    message: _Words
    finish_reason: str | None = None


class _Completion(Shape):
    model: str
    choices: list[_Choice] = Field(min_length=1)
    usage: _ChatUsage | None = None


class _PieceOfChoice(Shape):
    delta: _Words = _Words()
    finish_reason: str | None = None


class _Chunk(Shape):
    model: str = ""
    choices: list[_PieceOfChoice] = []
    usage: _ChatUsage | None = None


def chat_body(request: Request, entry: ModelEntry) -> JsonObject:
    """The body of `POST /chat/completions`."""
    messages = [_chat_message(message) for message in request.messages]
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
        schema = _schema(request.schema_name, request.schema)
        ours["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.schema is not None and entry.schema_mode is SchemaMode.OBJECT:
        ours["response_format"] = {"type": "json_object"}
    return merged(entry.extra, ours)


def _chat_message(message: Message) -> JsonObject:
    """Text alone goes as a plain string, which every compatible server understands."""
    if all(isinstance(part, TextPart) for part in message.parts):
        texts = [part.text for part in message.parts if isinstance(part, TextPart)]
        return {"role": message.role, "content": clean("\n".join(texts))}
    return {
        "role": message.role,
        "content": [
            {"type": "text", "text": clean(part.text)}
            if isinstance(part, TextPart)
            else {"type": "image_url", "image_url": {"url": _data_url(part)}}
            for part in message.parts
        ],
    }


def read_chat(content: bytes | JsonObject, name: str) -> RawReply:
    """What a whole completion says.

    Raises:
        ModelFailure: UNREADABLE.
    """
    completion = read_shape(_Completion, content, name)
    choice = completion.choices[0]
    return _chat_reply(
        choice.message.content or "",
        choice.message.refusal or "",
        choice.finish_reason,
        completion.model,
        completion.usage,
    )


def read_chat_stream(chunks: Iterable[JsonObject], name: str) -> RawReply:
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
    return _chat_reply("".join(text), "".join(refusal), reason, model, usage)


def _chat_reply(
    text: str, refusal: str, reason: str | None, model: str, usage: _ChatUsage | None
) -> RawReply:
    return RawReply(
        text=refusal or text,
        model=model,
        usage=(usage or _ChatUsage()).counted,
        stop=Stop.REFUSED if refusal else _STOPS.get(reason or "", Stop.DONE),
    )


_LEAST_OUTPUT_TOKENS = 16
"""The API takes no smaller limit."""


class _ResponseUsage(Shape):
    input_tokens: NonNegativeInt = 0
    output_tokens: NonNegativeInt = 0
    input_tokens_details: _CachedTokens | None = None

    @property
    def counted(self) -> Usage:
        return _counted(self.input_tokens, self.output_tokens, self.input_tokens_details)


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
    usage: _ResponseUsage | None = None
    error: ErrorShape | None = None
    incomplete_details: _Incomplete | None = None


class _Event(Shape):
    type: str
    response: dict[str, object] = {}
    code: str | None = None
    message: str | None = None


def response_body(request: Request, entry: ModelEntry) -> JsonObject:
    """The body of `POST /responses`. Nothing is kept at the provider (`store`)."""
    ours: JsonObject = {
        "model": entry.model,
        "input": [_response_message(message) for message in request.messages],
        "max_output_tokens": max(request.max_tokens, _LEAST_OUTPUT_TOKENS),
        "store": False,
    }
    if system := system_text(request, entry):
        ours["instructions"] = system
    if entry.temperature and request.temperature is not None:
        ours["temperature"] = request.temperature
    if request.schema is not None and entry.schema_mode is SchemaMode.SCHEMA:
        schema = _schema(request.schema_name, request.schema)
        ours["text"] = {"format": {"type": "json_schema", **schema}}
    if request.schema is not None and entry.schema_mode is SchemaMode.OBJECT:
        ours["text"] = {"format": {"type": "json_object"}}
    return merged(entry.extra, ours)


def _response_message(message: Message) -> JsonObject:
    text_type = "input_text" if message.role == "user" else "output_text"
    return {
        "role": message.role,
        "content": [
            {"type": text_type, "text": clean(part.text)}
            if isinstance(part, TextPart)
            else {"type": "input_image", "image_url": _data_url(part), "detail": "auto"}
            for part in message.parts
        ],
    }


def read_response(content: bytes | JsonObject, name: str, key: str | None) -> RawReply:
    """What a whole response says.

    Raises:
        ModelFailure: it is unreadable, or says that it failed.
    """
    response = read_shape(_Response, content, name)
    usage = (response.usage or _ResponseUsage()).counted
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


def read_response_stream(events: Iterable[JsonObject], name: str, key: str | None) -> RawReply:
    """What a streamed response says at its end.

    Raises:
        ModelFailure: there is no end, or it says that it failed.
    """
    for raw in events:
        event = read_shape(_Event, raw, name)
        if event.type in ("response.completed", "response.incomplete", "response.failed"):
            return read_response(event.response, name, key)
        if event.type == "error":
            raise failure_of_words(name, event.message or "", event.code or "", key)
    raise cut_stream(name)
