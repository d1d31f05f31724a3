"""What requests cost, a cap on spending that concurrent calls cannot overrun, and kept replies.
An unknown price gives None, which is not zero.
"""

import hashlib
import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Protocol

from webagent.llm.interface import (
    FailureKind,
    ImagePart,
    Message,
    ModelFailure,
    Reply,
    Request,
    TextPart,
    Usage,
)
from webagent.llm.registry import ModelEntry, Prices
from webagent.llm.untrusted import bounded

AROUND_A_REQUEST = 64
AROUND_A_MESSAGE = 16
AROUND_A_SCHEMA = 1000
"""Providers put words of their own around a schema or a tool."""

_PIECES = re.compile(
    r" ?[A-Za-z]+| ?[0-9]+| ?[!-/:-@\[-`{-~]|[ \t\n\r\f\v]+|[^\x00-\x7f]+|.", re.DOTALL
)
"""Words, numbers and signs, each with the blank before it; white space; everything else."""
_LETTERS_A_TOKEN = 5
_DIGITS_A_TOKEN = 2
_SPACES_A_TOKEN = 4


def count_tokens(text: str) -> int:
    """How many tokens a text takes at most, near enough.

    Words count by five letters, numbers by two digits, every sign alone; a character beyond
    ASCII counts half its bytes. Pages are dense with signs, where a plain share of the
    characters comes out too low. Joining two texts never counts more than both.
    """
    # Most pieces of a page come again and again.
    return sum(n * _cost(piece) for piece, n in Counter(_PIECES.findall(text)).items())


def count_request(request: Request, entry: ModelEntry) -> int:
    """How many tokens the request takes: system prompt, schema, pictures and retries too."""
    return sum(map(count_tokens, texts_of(request))) + tokens_around(request, entry)


def texts_of(request: Request) -> list[str]:
    """Every text in the request, the schema among them."""
    parts = [part for message in request.messages for part in message.parts]
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    schema = [] if request.schema is None else [json.dumps(request.schema)]
    return [request.system, *texts, *schema]


def tokens_around(request: Request, entry: ModelEntry) -> int:
    """What comes on top of the texts: pictures, each the most it may, and the protocol's own."""
    parts = [part for message in request.messages for part in message.parts]
    return (
        AROUND_A_REQUEST
        + AROUND_A_MESSAGE * len(request.messages)
        + entry.max_image_tokens * sum(isinstance(part, ImagePart) for part in parts)
        + (0 if request.schema is None else AROUND_A_SCHEMA)
    )


def fitting(text: str, tokens: int) -> str:
    """The text within so many tokens: cut if need be, empty if even that is too long."""
    if count_tokens(text) <= tokens:
        return text
    return longest_fitting(lambda length: bounded(text, length), len(text), tokens)


def longest_fitting(make: Callable[[int], str], most: int, tokens: int) -> str:
    """The text made with the largest number up to `most` that fits; empty if none does."""
    low, high, best = 0, most, ""
    while low <= high:
        middle = (low + high) // 2
        text = make(middle)
        if count_tokens(text) <= tokens:
            best, low = text, middle + 1
        else:
            high = middle - 1
    return best


def _cost(piece: str) -> int:
    word = piece[1:] if piece[0] == " " and len(piece) > 1 and piece[1] != " " else piece
    first = word[0]
    if "0" <= first <= "9":
        return math.ceil(len(word) / _DIGITS_A_TOKEN)
    if not first.isascii():
        return math.ceil(len(word.encode("utf-8", "replace")) / 2)
    if first.isalpha():
        return math.ceil(len(word) / _LETTERS_A_TOKEN)
    return math.ceil(len(word) / _SPACES_A_TOKEN)


class Reservation:
    """Money set aside for one try. Unless told otherwise, all of it is spent."""

    def __init__(self, amount: Decimal) -> None:
        self.amount = amount
        self.spent = amount

    def settle(self, spent: Decimal) -> None:
        """Say what the try did cost; the rest goes back."""
        self.spent = spent


class Budget:
    """At most `limit` US dollars, over all threads that share it.

    The most that a try may cost is set aside before it is made. A try that does not fit beside
    those in the air waits for them; one that cannot fit any more is refused.
    """

    def __init__(self, limit: Decimal, spent: Decimal = Decimal(0)) -> None:
        if not limit.is_finite() or limit < 0:
            raise ValueError("a limit of spending is a number of dollars, at least 0")
        self.limit = limit
        self._spent = spent
        self._reserved = Decimal(0)
        self._in_the_air = 0
        self._changed = threading.Condition()

    @property
    def spent(self) -> Decimal:
        """What was spent so far, in US dollars."""
        with self._changed:
            return self._spent

    @contextmanager
    def reserve(self, amount: Decimal) -> Iterator[Reservation]:
        """Set the amount aside while the block runs, then count what its reservation says.

        Raises:
            ModelFailure: OUT_OF_BUDGET, the amount does not fit into what is left.
        """
        self._take(amount)
        reservation = Reservation(amount)
        try:
            yield reservation
        finally:
            with self._changed:
                self._reserved -= amount
                self._in_the_air -= 1
                self._spent += reservation.spent
                self._changed.notify_all()

    def _take(self, amount: Decimal) -> None:
        with self._changed:
            while self._spent + self._reserved + amount > self.limit:
                if self._spent + amount > self.limit or self._in_the_air == 0:
                    raise ModelFailure(
                        FailureKind.OUT_OF_BUDGET,
                        f"the next call may cost up to ${_dollars(amount)}, but of the cap of"
                        f" ${_dollars(self.limit)} only ${_dollars(self.limit - self._spent)}"
                        " is left",
                    )
                self._changed.wait()
            self._reserved += amount
            self._in_the_air += 1


def _dollars(amount: Decimal) -> str:
    return f"{max(amount, Decimal(0)):.4f}"


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
    said = request.max_tokens if output_tokens is None else output_tokens
    return price_of(count_request(request, entry), said, entry)


def price_of(input_tokens: int, output_tokens: int, entry: ModelEntry) -> Decimal | None:
    """What so many tokens cost in US dollars; None where the model's price is unknown."""
    if entry.prices is None:
        return None
    return (input_tokens * entry.prices.input + output_tokens * entry.prices.output) / _MILLION


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


_VERSION = 1


class ReplyCache(Protocol):
    """Keeps replies by key. Failures are never given to it. Threads share it."""

    def get(self, key: str) -> Reply | None:
        """The reply as it was put, or None."""

    def put(self, key: str, reply: Reply) -> None: ...


def cache_key(request: Request, entry: ModelEntry) -> str:
    """SHA-256 (hex) of all that shapes the reply to this request from this model.

    The name of the entry, prices, limits and whether the reply is streamed do not shape it.
    """
    shaping = {
        "version": _VERSION,
        "provider": entry.provider,
        "api": entry.api,
        "api_version": entry.api_version,
        "base_url": str(entry.base_url),
        "model": entry.model,
        "schema_mode": entry.schema_mode,
        "takes_temperature": entry.temperature,
        "extra": entry.extra,
        "system": request.system,
        "messages": [_message(message) for message in request.messages],
        "schema": None if request.schema is None else dict(request.schema),
        "schema_name": request.schema_name,
        "max_tokens": request.max_tokens,
        "temperature": None if request.temperature is None else float(request.temperature),
    }
    text = json.dumps(shaping, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _message(message: Message) -> list[object]:
    return [
        message.role,
        [
            ["text", part.text]
            if isinstance(part, TextPart)
            else [part.media_type, hashlib.sha256(part.data).hexdigest()]
            for part in message.parts
        ],
    ]
