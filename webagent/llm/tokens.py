"""How long a request is, without the model's own tokenizer: rather too long than too short."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable

from webagent.llm.interface import ImagePart, Request, TextPart
from webagent.llm.registry import ModelEntry
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


def fitting(text: str, tokens: int, cut: Callable[[str, int], str] = bounded) -> str:
    """The text within so many tokens: cut if need be, empty if even that is too long.

    Args:
        cut: shortens a text to about so many characters.
    """
    if count_tokens(text) <= tokens:
        return text
    low, high = 0, len(text)
    best = ""
    while low <= high:
        middle = (low + high) // 2
        shorter = cut(text, middle)
        if count_tokens(shorter) <= tokens:
            best, low = shorter, middle + 1
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
