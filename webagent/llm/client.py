"""The one door to language models: patience, limits, prices and a cache before the providers."""

from __future__ import annotations

import os
import random
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Protocol, Self

from webagent.llm.budget import Budget, ReplyCache, Reservation, cache_key, cost_of, most_cost
from webagent.llm.failures import RequestAttempt, tell
from webagent.llm.interface import BatchDesk, FailureKind, ModelFailure, Reply, Request, Usage
from webagent.llm.registry import ModelEntry, ProviderName, Registry
from webagent.llm.wire import MAX_RESULT_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryLimits:
    """How often and how long one request is tried.

    No try begins after `max_seconds`; the last one may still take its entry's `timeout_s`.
    Between tries passes a random time up to `first_delay_s`, doubled with every try up to
    `longest_delay_s`, on top of what the provider asks for.
    """

    max_tries: int = 6
    max_seconds: float = 600.0
    first_delay_s: float = 1.0
    longest_delay_s: float = 60.0

    def delay(self, tries: int, retry_after: float | None, chance: float) -> float:
        """Seconds to wait after so many tries. `chance`: a random number in [0, 1)."""
        most = min(self.longest_delay_s, self.first_delay_s * 2.0 ** min(tries - 1, 60))
        return (retry_after or 0.0) + chance * most


class Provider(BatchDesk, Protocol):
    """One model, asked once at a time, by several threads or by batches."""

    def complete(self, request: Request) -> Reply: ...


def open_provider(
    entry: ModelEntry,
    environment: Mapping[str, str],
    clock: Callable[[], float],
    max_bytes: int | None = None,
) -> Provider:
    """The provider of a model; its replies have at most so many bytes, or as many as usual.

    Raises:
        ModelFailure: NOT_CONFIGURED, its key is not set.
    """
    key = entry.key(environment)
    # Here, not above: each SDK takes a second to import, and most processes ask no model.
    if entry.provider is ProviderName.ANTHROPIC:
        from webagent.llm.anthropic_provider import AnthropicProvider

        return AnthropicProvider(entry, key, clock, max_bytes)
    from webagent.llm.openai_provider import OpenAIProvider

    return OpenAIProvider(entry, key, clock, max_bytes)


def batch_desk(entry: ModelEntry, environment: Mapping[str, str] = os.environ) -> BatchDesk:
    """Many requests at once by the provider's own batch API: slower, and at some cheaper.

    Each request is known by its cache key, so that what is collected can be put into a
    `ReplyCache` and an evaluation afterwards finds its replies there.

    Raises:
        ModelFailure: NOT_CONFIGURED, its key is not set.
    """
    # A batch cannot be streamed, and asking for it would be in the body of every request.
    entry = entry.model_copy(update={"streaming": False})
    return open_provider(entry, environment, time.monotonic, MAX_RESULT_BYTES)


class _Lane:
    """One model's provider, the slots before it, and until when it wants to be left alone."""

    def __init__(self, entry: ModelEntry, provider: Provider) -> None:
        self.entry = entry
        self.provider = provider
        self.slots = threading.BoundedSemaphore(entry.max_concurrency)
        self._lock = threading.Lock()
        self._resume_at = float("-inf")

    def pause_until(self, moment: float) -> None:
        with self._lock:
            self._resume_at = max(self._resume_at, moment)

    def pause_left(self, now: float) -> float:
        with self._lock:
            return max(0.0, self._resume_at - now)


class _Lanes:
    """The lanes of a process, made when they are first needed, so after any fork."""

    def __init__(self, environment: Mapping[str, str], clock: Callable[[], float]) -> None:
        self._environment = environment
        self._clock = clock
        self._lock = threading.Lock()
        self._lanes: dict[str, _Lane] = {}
        # A file of models that changes is followed by a new client; the last run that asks the
        # old one lets go of it, and with it go its connections.
        weakref.finalize(self, _close_all, self._lanes)

    def lane(self, entry: ModelEntry) -> _Lane:
        with self._lock:
            if entry.name not in self._lanes:
                provider = open_provider(entry, self._environment, self._clock)
                self._lanes[entry.name] = _Lane(entry, provider)
            return self._lanes[entry.name]

    def close(self) -> None:
        with self._lock:
            _close_all(self._lanes)


def _close_all(lanes: dict[str, _Lane]) -> None:
    for lane in lanes.values():
        lane.provider.close()
    lanes.clear()


@dataclass(eq=False, repr=False)
class Client:
    """Answers requests to every model of a registry. Threads share one client.

    Per model no more requests are on their way than its `max_concurrency`, in this process.
    """

    registry: Registry
    _: KW_ONLY
    budget: Budget | None = None
    cache: ReplyCache | None = None
    patience: RetryLimits = RetryLimits()
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        self._lanes = _Lanes(self.environment, self.clock)

    def with_limits(self, *, budget: Budget | None, cache: ReplyCache | None) -> Client:
        """The same models and slots under another budget and cache, as for one batch.

        Close the client it came from, not this one.
        """
        other = copy(self)
        other.budget = budget
        other.cache = cache
        return other

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections. A later request opens new ones."""
        self._lanes.close()

    def complete(self, request: Request) -> Reply:
        """The reply to the request: from the cache, else from the model.

        Raises:
            ModelFailure: there is none, after as many tries as made sense.
        """
        entry = self.registry.entry(request.model)
        key = cache_key(request, entry)
        kept = self.cache.get(key) if self.cache else None
        if kept is not None:
            return replace(kept, cost=Decimal(0), seconds=0.0, is_cached=True)
        reply = self._ask_with_patience(self._lanes.lane(entry), request)
        if self.cache:
            self.cache.put(key, reply)
        return reply

    def _ask_with_patience(self, lane: _Lane, request: Request) -> Reply:
        begun = self.clock()
        tries = 0
        while True:
            self._wait_out_pause(lane)
            tries += 1
            try:
                return replace(self._ask_watched(lane, request, tries > 1), tries=tries)
            except ModelFailure as failure:
                delay = self.patience.delay(tries, failure.retry_after, self.chance())
                if failure.retry_after:
                    lane.pause_until(self.clock() + failure.retry_after)
                ends = self.clock() + delay - begun
                if (
                    not failure.kind.is_temporary
                    or tries >= self.patience.max_tries
                    or ends > self.patience.max_seconds
                ):
                    raise _after(tries, failure) from None
            self.sleep(delay)

    def _wait_out_pause(self, lane: _Lane) -> None:
        """Leave a model alone that told another thread to wait."""
        left = lane.pause_left(self.clock())
        if left <= 0:
            return
        if left > self.patience.max_seconds:
            raise ModelFailure(
                FailureKind.RATE_LIMITED,
                f"{lane.entry.name}: the provider asks to wait for {left:.0f} s more",
                retry_after=left,
            )
        self.sleep(left + self.chance() * self.patience.first_delay_s)

    def _ask_watched(self, lane: _Lane, request: Request, is_retry: bool) -> Reply:
        begun = self.clock()
        about = partial(RequestAttempt, model=lane.entry.name, is_retry=is_retry)
        try:
            reply = self._ask_once(lane, request)
        except ModelFailure as failure:
            seconds, cost = self.clock() - begun, cost_of(failure.usage, lane.entry.prices)
            tell(about(result=failure.kind, seconds=seconds, usage=failure.usage, cost=cost))
            raise
        seconds = self.clock() - begun
        tell(about(result="ok", seconds=seconds, usage=reply.usage, cost=reply.cost))
        return reply

    def _ask_once(self, lane: _Lane, request: Request) -> Reply:
        prices = lane.entry.prices
        with lane.slots, self._set_aside(lane.entry, request) as reservation:
            try:
                reply = lane.provider.complete(request)
            except ModelFailure as failure:
                if failure.usage != Usage():
                    spent = cost_of(failure.usage, prices)
                    reservation.settle(reservation.amount if spent is None else spent)
                elif not failure.may_be_billed:
                    reservation.settle(Decimal(0))
                raise
            cost = cost_of(reply.usage, prices)
            if cost is not None:
                reservation.settle(cost)
            return replace(reply, cost=cost)

    @contextmanager
    def _set_aside(self, entry: ModelEntry, request: Request) -> Iterator[Reservation]:
        if self.budget is None:
            yield Reservation(Decimal(0))
            return
        most = most_cost(request, entry)
        if most is None:
            raise ModelFailure(
                FailureKind.NOT_CONFIGURED,
                f"{entry.name}: its prices are not in the file of models, so a cap on spending"
                " cannot hold: add them, or go without a cap",
            )
        with self.budget.reserve(most) as reservation:
            yield reservation


def _after(tries: int, failure: ModelFailure) -> ModelFailure:
    if tries == 1:
        return failure
    return ModelFailure(
        failure.kind,
        f"{failure} (after {tries} tries)",
        retry_after=failure.retry_after,
        usage=failure.usage,
        text=failure.text,
        may_be_billed=failure.may_be_billed,
    )
