"""What the protocols share: how requests are written, and what a reply says in the end."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum, auto
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from webagent.llm.budget import cache_key, cost_of, most_cost
from webagent.llm.failures import unreadable
from webagent.llm.interface import (
    FailureKind,
    ImagePart,
    ModelFailure,
    Outcome,
    Reply,
    Request,
    Usage,
)
from webagent.llm.registry import ModelEntry, SchemaMode
from webagent.trajectory.values import first_field_error

MAX_RESULT_BYTES = 1024**3
"""Of what a batch came to."""

JsonObject = dict[str, object]
T = TypeVar("T", bound="Shape")
_SURROGATES = re.compile("[\ud800-\udfff]")


class Stop(Enum):
    """Why a model stopped."""

    DONE = auto()
    REFUSED = auto()
    LENGTH = auto()
    CONTEXT = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReply:
    """A whole reply, whatever protocol it came by."""

    text: str
    model: str
    usage: Usage
    stop: Stop


class Shape(BaseModel):
    """The part of a reply that is read. The rest may be anything."""


def read_shape(shape: type[T], content: bytes | JsonObject, name: str) -> T:
    """The reply as that shape.

    Raises:
        ModelFailure: UNREADABLE, it is no JSON or has another shape.
    """
    try:
        if isinstance(content, bytes):
            return shape.model_validate_json(content)
        return shape.model_validate(content)
    except ValidationError as error:
        raise unreadable(name, str(first_field_error(error))) from None


def events_of(stream: Iterable[object], media_type: str, name: str) -> Iterator[JsonObject]:
    """The events of an SDK's stream as plain tables.

    Raises:
        ModelFailure: UNREADABLE; from what is no stream the SDKs read nothing, without a word.
    """
    if not media_type.startswith("text/event-stream"):
        raise unreadable(name, f"a stream was asked for, and {media_type or 'no type'} came")
    yield from tables_of(stream, name)


def tables_of(items: Iterable[object], name: str) -> Iterator[JsonObject]:
    """What an SDK reads one by one, as plain tables.

    Raises:
        ModelFailure: UNREADABLE; the SDKs take any JSON for an item, or trip over it.
    """
    iterator = iter(items)
    while True:
        try:
            item = next(iterator)
        except StopIteration:
            return
        except (AttributeError, LookupError, TypeError):
            raise unreadable(name, "a part of it has another form") from None
        if not isinstance(item, BaseModel):
            raise unreadable(name, "a part of it is no table")
        yield item.model_dump(by_alias=True, exclude_unset=True, warnings=False)


def clean(text: str) -> str:
    """The text with halves of surrogate pairs replaced: they have no form in UTF-8."""
    return _SURROGATES.sub("\ufffd", text)


def base64_of(image: ImagePart) -> str:
    return base64.b64encode(image.data).decode()


def system_text(request: Request, entry: ModelEntry) -> str:
    """The system prompt, with the schema in it where the API does not take one."""
    system = clean(request.system)
    if request.schema is None or entry.schema_mode in (SchemaMode.SCHEMA, SchemaMode.TOOL):
        return system
    schema = json.dumps(request.schema, ensure_ascii=False)
    asked = (
        "Reply with one JSON object and nothing else: no prose, no code fence."
        f" It follows this JSON Schema:\n{schema}"
    )
    return f"{system}\n\n{asked}" if system else asked


def merged(extra: Mapping[str, object], ours: Mapping[str, object]) -> JsonObject:
    """Both, table by table; where both say something, ours holds."""
    result: JsonObject = dict(extra)
    for name, value in ours.items():
        theirs = result.get(name)
        if isinstance(theirs, Mapping) and isinstance(value, Mapping):
            result[name] = merged(theirs, value)
        else:
            result[name] = value
    return result


_UNFINISHED = {
    Stop.REFUSED: (FailureKind.REFUSED, "the model refuses to answer"),
    Stop.LENGTH: (FailureKind.TRUNCATED, "the reply ran into the limit of tokens after {}"),
    Stop.CONTEXT: (FailureKind.TOO_LONG, "request and reply are longer than the model's context"),
}


def reply_of(said: RawReply, name: str, *, request_id: str, seconds: float = 0.0) -> Reply:
    """The reply, without its cost, if the model came to the end of it.

    Raises:
        ModelFailure: REFUSED, TRUNCATED, TOO_LONG or UNREADABLE (there is no text).
    """
    if said.stop in _UNFINISHED:
        kind, words = _UNFINISHED[said.stop]
        why = f"{name}: {words.format(said.usage.output_tokens)}"
        raise ModelFailure(kind, why, usage=said.usage, text=said.text)
    if not said.text:
        raise ModelFailure(
            FailureKind.UNREADABLE, f"{name}: the reply has no text", usage=said.usage
        )
    return Reply(
        text=said.text, model=said.model, usage=said.usage, seconds=seconds, request_id=request_id
    )


def requests_by_key(requests: Sequence[Request], entry: ModelEntry) -> dict[str, Request]:
    return {cache_key(request, entry): request for request in requests}


def outcome_of(entry: ModelEntry, read: Callable[[], RawReply], request_id: str) -> Outcome:
    """The reply as it would have come on its own, at the price of a batch."""
    try:
        reply = reply_of(read(), entry.name, request_id=request_id)
    except ModelFailure as failure:
        return failure
    cost = cost_of(reply.usage, entry.prices)
    if cost is not None and entry.prices is not None:
        cost *= entry.prices.batch_factor
    return replace(reply, cost=cost)


class ErrorShape(Shape):
    code: str | None = None
    type: str | None = None
    message: str = ""


def out_of_time(name: str) -> ModelFailure:
    return ModelFailure(FailureKind.TIMED_OUT, f"{name}: the batch ran out of time")


def cancelled(name: str) -> ModelFailure:
    return ModelFailure(FailureKind.REJECTED, f"{name}: the batch was cancelled")


def most_cost_of_batch(requests: Sequence[Request], entry: ModelEntry) -> Decimal | None:
    """What a batch costs at most in US dollars; None where the prices are unknown."""
    if entry.prices is None:
        return None
    costs = (most_cost(request, entry) for request in requests_by_key(requests, entry).values())
    total = sum((cost for cost in costs if cost is not None), Decimal(0))
    return total * entry.prices.batch_factor
