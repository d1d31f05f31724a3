"""How many tokens requests will take, before they are sent."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from math import ceil

from PIL import Image, UnidentifiedImageError

from webagent.llm.interface import ImagePart, Request

BYTES_PER_TOKEN = 3
"""English has about four bytes of UTF-8 to a token, Japanese three: rather too many than few."""
PIXELS_PER_TOKEN = 750
"""What Anthropic documents for pictures; OpenAI's tiles come to less for the sizes sent here."""
UNREADABLE_PICTURE = 1600
PER_MESSAGE = 8


def tokens_of(requests: Iterable[Request]) -> tuple[int, int]:
    """Input tokens, roughly, and output tokens at most, of all requests together."""
    asked = list(requests)
    return sum(_input_tokens(request) for request in asked), sum(r.max_tokens for r in asked)


def _input_tokens(request: Request) -> int:
    tokens = _of_text(request.system) + PER_MESSAGE
    if request.schema is not None:
        tokens += _of_text(json.dumps(request.schema))
    for message in request.messages:
        tokens += PER_MESSAGE
        for part in message.parts:
            tokens += _of_picture(part) if isinstance(part, ImagePart) else _of_text(part.text)
    return tokens


def _of_text(text: str) -> int:
    return ceil(len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN)


def _of_picture(picture: ImagePart) -> int:
    try:
        with Image.open(io.BytesIO(picture.data)) as image:
            return ceil(image.width * image.height / PIXELS_PER_TOKEN)
    except (UnidentifiedImageError, OSError):
        return UNREADABLE_PICTURE
