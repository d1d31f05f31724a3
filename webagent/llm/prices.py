"""What requests and replies cost. An unknown price gives None, which is not zero."""

import math
from decimal import Decimal

from webagent.llm.interface import ImagePart, Request, TextPart, Usage
from webagent.llm.registry import ModelEntry, Prices

_MILLION = Decimal(1_000_000)
_TOKENS_AROUND_A_MESSAGE = 16
_TOKENS_AROUND_A_REQUEST = 64
_TOKENS_AROUND_A_SCHEMA = 1000
"""Providers put words of their own around a schema or a tool."""
_LEAST_OUTPUT_TOKENS = 16


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has, without the model's tokenizer.

    Four ASCII characters, or one other character, count as one token: near the truth for English
    prose (within some 20 %), too low for dense code and numbers, too high for European letters.
    """
    ascii_count = sum(character.isascii() for character in text)
    return math.ceil(ascii_count / 4 + (len(text) - ascii_count))


def estimate_input_tokens(request: Request, entry: ModelEntry) -> int:
    """About how many tokens a request has; each picture counts the most it may."""
    return sum(map(estimate_tokens, _texts(request))) + _around(request, entry)


def most_input_tokens(request: Request, entry: ModelEntry) -> int:
    """More tokens than the request can have: no tokenizer makes more than one of one byte."""
    size = sum(len(text.encode("utf-8", "replace")) for text in _texts(request))
    most = size + _around(request, entry)
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
    tokens = estimate_input_tokens(request, entry)
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


def _texts(request: Request) -> list[str]:
    parts = [part for message in request.messages for part in message.parts]
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    schema = [] if request.schema is None else [str(request.schema)]
    return [request.system, *texts, *schema]


def _around(request: Request, entry: ModelEntry) -> int:
    images = sum(
        isinstance(part, ImagePart) for message in request.messages for part in message.parts
    )
    return (
        _TOKENS_AROUND_A_REQUEST
        + len(request.messages) * _TOKENS_AROUND_A_MESSAGE
        + images * entry.max_image_tokens
        + (0 if request.schema is None else _TOKENS_AROUND_A_SCHEMA)
    )
