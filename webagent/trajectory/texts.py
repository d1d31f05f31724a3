"""Text from outside, made storable: no NUL, no half characters, no endless strings."""

from __future__ import annotations

import re
from typing import Any

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""What neither databases nor UTF-8 hold."""
_REPLACEMENT = "\ufffd"


def storable_text(text: str, limit: int) -> str:
    """The text without NUL and lone surrogates (U+FFFD instead), at most `limit` characters.

    Databases and UTF-8 hold neither.
    """
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return UNSTORABLE.sub(_REPLACEMENT, text)


def storable_json(value: Any, limit: int, depth: int = 64) -> Any:
    """The same for every string and key inside a JSON value; NaN and infinities become None.

    Raises:
        ValueError: nested deeper than `depth`.
    """
    if isinstance(value, str):
        return storable_text(value, limit)
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict | list | tuple) and depth <= 0:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return {
            storable_text(str(key), limit): storable_json(item, limit, depth - 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [storable_json(item, limit, depth - 1) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 63:
        return float(value) if value.bit_length() < 1000 else None
    return value
