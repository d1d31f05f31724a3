"""Text from outside, made storable: no NUL, no half characters, no endless strings."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
"""What neither databases nor UTF-8 hold."""
_REPLACEMENT = "\ufffd"
NAME_CHARS = 200
"""The longest identifier: of runs, tasks, verdicts, agents, models and experiments."""
_HASH_CHARS = 16
_HEAD_CHARS = 60


def storable_text(text: str, limit: int) -> str:
    """The text without NUL and lone surrogates (U+FFFD instead), at most `limit` characters.

    Databases and UTF-8 hold neither.
    """
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return UNSTORABLE.sub(_REPLACEMENT, text)


def bounded_name(name: str, limit: int = NAME_CHARS) -> str:
    """The name as an identifier: at most `limit` characters, equal only for equal names.

    A longer one keeps its beginning and its end, with a hash of the whole between them. Every
    identifier that is built from names of the source goes through here.
    """
    clean = UNSTORABLE.sub(_REPLACEMENT, name)
    if len(clean) <= limit:
        return clean
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_CHARS]
    head = f"{clean[:_HEAD_CHARS]}-{digest}-"
    return head + clean[len(head) - limit :]


def unstorable_numbers(value: Any, where: str = "") -> Iterator[str]:
    """Paths of the numbers in a JSON value that no record holds: NaN and infinite ones."""
    if isinstance(value, float):
        if value - value != 0:
            yield where
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(item, str):
                yield from unstorable_numbers(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            if not isinstance(item, str):
                yield from unstorable_numbers(item, f"{where}.{place}" if where else str(place))


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


LONGEST = 200
"""More between two marks is no quotation: one of them was left out."""

UNSPACED = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Letters that a mark stands right beside, since these scripts put no blanks there."""
_LETTER = rf"[^\W{UNSPACED}]"
_STRAIGHT, _CURVED = ('"', "`", "'"), ("“”", "‘’", "«»", "「」", "『』")


def _between(first: str, last: str) -> str:
    inside = rf"[^{last}\n]"
    if last in "'’":
        inside = rf"(?:{inside}|(?<={_LETTER}){last}(?={_LETTER}))"
    return rf"{first}({inside}{{1,{LONGEST}}}){last}"


_QUOTED = re.compile(
    "|".join(
        [rf"(?<!{_LETTER}){_between(mark, mark)}(?!{_LETTER})" for mark in _STRAIGHT]
        + [_between(pair[0], pair[1]) for pair in _CURVED]
    )
)


def quoted(text: str) -> list[str]:
    """Texts in quotation marks of any kind, in order; apostrophes inside words are none."""
    return [match[match.lastindex or 0] for match in _QUOTED.finditer(text)]
