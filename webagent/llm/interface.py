"""What is asked of a language model and what comes back: plain frozen values, no provider."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Literal, Protocol

from webagent.trajectory.faults import Fault


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture as its file's bytes. `media_type`: image/png, image/jpeg or image/webp."""

    data: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["user", "assistant"]
    parts: tuple[TextPart | ImagePart, ...]

    @classmethod
    def user(cls, text: str) -> Message:
        return cls("user", (TextPart(text),))

    @classmethod
    def assistant(cls, text: str) -> Message:
        return cls("assistant", (TextPart(text),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to one model.

    `model` is a name of the model registry. With a `schema` (JSON Schema of an object) the reply's
    text is JSON of that form, as far as the provider can hold the model to it: validate it all
    the same. `temperature` None leaves it to the provider. `is_prefix_cached` asks the provider
    to keep what comes before the last message, where it can.
    """

    model: str
    messages: tuple[Message, ...]
    system: str = ""
    schema: Mapping[str, object] | None = None
    schema_name: str = "reply"
    max_tokens: int = 1024
    temperature: float | None = 0.0
    is_prefix_cached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the provider counts them.

    `cached_tokens` (read from the provider's cache) and `cache_write_tokens` (written to it) are
    part of `input_tokens`.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a model said.

    `model` is the name that the provider returned, which may say more than the one asked for.
    `cost` is in US dollars; None where a price is unknown, which is not zero. `is_cached`: it was
    said before and costs nothing now (`cost` is then 0). `seconds` is the time of the last try.
    """

    text: str
    model: str
    usage: Usage = field(default_factory=Usage)
    cost: Decimal | None = None
    seconds: float = 0.0
    tries: int = 1
    is_cached: bool = False
    request_id: str = ""


class FailureKind(StrEnum):
    """Why there is no reply. None of these is ever a verdict on what was asked about."""

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    """5xx, or the provider's own word for it."""
    TIMED_OUT = "timed_out"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    """The reply ran into `max_tokens`."""
    TOO_LONG = "too_long"
    """The request is longer than the model's context."""
    REJECTED = "rejected"
    """Another 4xx: the request is wrong."""
    NOT_AUTHORISED = "not_authorised"
    UNREADABLE = "unreadable"
    """A reply that is not what the protocol promises."""
    OUT_OF_BUDGET = "out_of_budget"
    """It does not fit into our own cap on spending."""
    NO_CREDIT = "no_credit"
    """The account at the provider has none left: nobody's cap, and no doing of an agent."""
    NOT_CONFIGURED = "not_configured"
    """No such model in the registry, or no key for it."""

    @property
    def is_temporary(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self in (
            FailureKind.RATE_LIMITED,
            FailureKind.OVERLOADED,
            FailureKind.TIMED_OUT,
            FailureKind.UNREACHABLE,
        )

    @property
    def fault(self) -> Fault | None:
        """The class of infrastructure errors it belongs to; None for what the model said or did."""
        return _FAULTS.get(self)


_FAULTS = {
    FailureKind.RATE_LIMITED: Fault.PROVIDER_RATE_LIMITED,
    FailureKind.OVERLOADED: Fault.PROVIDER_OVERLOADED,
    FailureKind.UNREADABLE: Fault.PROVIDER_OVERLOADED,
    FailureKind.TIMED_OUT: Fault.PROVIDER_UNREACHABLE,
    FailureKind.UNREACHABLE: Fault.PROVIDER_UNREACHABLE,
    FailureKind.REJECTED: Fault.PROVIDER_OTHER,
    FailureKind.NOT_AUTHORISED: Fault.PROVIDER_OTHER,
    FailureKind.NO_CREDIT: Fault.PROVIDER_OTHER,
    FailureKind.NOT_CONFIGURED: Fault.PROVIDER_OTHER,
}


class ModelFailure(Exception):
    """A model gave no usable reply. The message is for people and holds no key.

    `retry_after` is what the provider asked for, in seconds; `usage` and `text` are what was
    spent and said all the same (a truncated reply, a refusal). `may_be_billed`: the provider may
    have worked, but nobody knows what it charges (a reply that was cut or came too late).
    """

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        *,
        retry_after: float | None = None,
        usage: Usage | None = None,
        text: str = "",
        may_be_billed: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        self.usage = usage or Usage()
        self.text = text
        self.may_be_billed = may_be_billed


class LanguageModel(Protocol):
    """Whatever answers requests: one provider, or the client that stands before all of them."""

    def complete(self, request: Request) -> Reply:
        """The reply to the request.

        Raises:
            ModelFailure: there is none.
        """


Outcome = Reply | ModelFailure


class BatchState(StrEnum):
    RUNNING = "running"
    ENDED = "ended"
    """Its results can be collected, even if it was cancelled or ran out of time."""
    FAILED = "failed"
    """The provider did not take it; there are no results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchProgress:
    state: BatchState
    total: int = 0
    done: int = 0
    reason: str = ""
    """Why it failed, in the provider's words."""


class BatchDesk(Protocol):
    """Where batches of one model are handed in and fetched. Every method may raise ModelFailure."""

    def submit(self, requests: Sequence[Request]) -> str:
        """The provider's id of a new batch: keep it. The same request twice is sent once."""

    def poll(self, batch_id: str) -> BatchProgress:
        """How far the batch is. Providers take up to a day."""

    def collect(self, batch_id: str) -> Iterator[tuple[str, Outcome]]:
        """Cache key and outcome of each request of an ended batch, in no order."""

    def close(self) -> None: ...
