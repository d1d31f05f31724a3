"""What batches of both providers have in common: their desk, their progress, their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from webagent.llm.budget import cache_key, cost_of
from webagent.llm.interface import FailureKind, ModelFailure, Reply, Request
from webagent.llm.registry import ModelEntry
from webagent.llm.wire import RawReply, Shape, reply_of

MAX_RESULT_BYTES = 1024**3
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
        ...

    def poll(self, batch_id: str) -> BatchProgress:
        """How far the batch is. Providers take up to a day."""
        ...

    def collect(self, batch_id: str) -> Iterator[tuple[str, Outcome]]:
        """Cache key and outcome of each request of an ended batch, in no order."""
        ...

    def close(self) -> None: ...


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
