"""Many requests at once by the providers' own batch APIs: slower, and at some cheaper.

Each request is known by its cache key, so that what is collected can be put into a `ReplyCache`
and an evaluation afterwards finds its replies there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from webagent.llm.batch_parts import BatchDesk, requests_by_key
from webagent.llm.budget import most_cost
from webagent.llm.interface import Request
from webagent.llm.registry import ModelEntry, ProviderName


def batch_desk(
    entry: ModelEntry,
    environment: Mapping[str, str] = os.environ,
    clock: Callable[[], float] = time.monotonic,
) -> BatchDesk:
    """The desk of a model.

    Raises:
        ModelFailure: NOT_CONFIGURED, its key is not set.
    """
    key = entry.key(environment)
    # A batch cannot be streamed, and the wish for it would be in the body of every request.
    entry = entry.model_copy(update={"streaming": False})
    # Here, not above: each SDK takes a second to import, and most processes ask no model.
    if entry.provider is ProviderName.ANTHROPIC:
        from webagent.llm.anthropic_provider import AnthropicBatches

        return AnthropicBatches(entry, key, clock)
    from webagent.llm.openai_provider import OpenAIBatches

    return OpenAIBatches(entry, key, clock)


def most_cost_of_batch(requests: Sequence[Request], entry: ModelEntry) -> Decimal | None:
    """What a batch costs at most in US dollars; None where the prices are unknown."""
    if entry.prices is None:
        return None
    costs = (most_cost(request, entry) for request in requests_by_key(requests, entry).values())
    total = sum((cost for cost in costs if cost is not None), Decimal(0))
    return total * entry.prices.batch_factor
