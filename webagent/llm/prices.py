"""What requests and replies cost. An unknown price gives None, which is not zero."""

from decimal import Decimal

from webagent.llm.interface import Request, Usage
from webagent.llm.registry import ModelEntry, Prices
from webagent.llm.tokens import count_request, texts_of, tokens_around

_MILLION = Decimal(1_000_000)
_LEAST_OUTPUT_TOKENS = 16


def most_input_tokens(request: Request, entry: ModelEntry) -> int:
    """More tokens than the request can have: no tokenizer makes more than one of one byte."""
    size = sum(len(text.encode("utf-8", "replace")) for text in texts_of(request))
    most = size + tokens_around(request, entry)
    return most if entry.context_tokens is None else min(most, entry.context_tokens)


def estimate_cost(
    request: Request, entry: ModelEntry, *, output_tokens: int | None = None
) -> Decimal | None:
    """About what the request will cost in US dollars; None where the prices are unknown.

    Args:
        output_tokens: how long the reply is expected to be; None: as long as it may.
    """
    if entry.prices is None:
        return None
    said = request.max_tokens if output_tokens is None else output_tokens
    tokens = count_request(request, entry)
    return (tokens * entry.prices.input + said * entry.prices.output) / _MILLION


def most_cost(request: Request, entry: ModelEntry) -> Decimal | None:
    """What one try of the request costs at most; None where the prices are unknown."""
    prices = entry.prices
    if prices is None:
        return None
    dearest = max(prices.input, prices.cached or Decimal(0), prices.cache_write or Decimal(0))
    said = max(request.max_tokens, _LEAST_OUTPUT_TOKENS)
    return (most_input_tokens(request, entry) * dearest + said * prices.output) / _MILLION


def cost_of(usage: Usage, prices: Prices | None) -> Decimal | None:
    """What was spent in US dollars; None where the prices or the tokens are unknown."""
    if prices is None or usage.input_tokens == 0:
        return None
    cached = prices.input if prices.cached is None else prices.cached
    written = prices.input if prices.cache_write is None else prices.cache_write
    plain = max(0, usage.input_tokens - usage.cached_tokens - usage.cache_write_tokens)
    return (
        plain * prices.input
        + usage.cached_tokens * cached
        + usage.cache_write_tokens * written
        + usage.output_tokens * prices.output
    ) / _MILLION
