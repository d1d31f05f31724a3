"""Code fences that models put around replies, whatever they were asked for."""

from __future__ import annotations

import re

FENCE = "```"
_LANGUAGE = re.compile(r"[\w+./#-]*")


def without_fence(text: str) -> str:
    """The text inside a single Markdown code block; the text itself where there is none around it.

    The fence's first line may name a language.
    """
    text = text.strip()
    if len(text) < 2 * len(FENCE) or not (text.startswith(FENCE) and text.endswith(FENCE)):
        return text
    inner = text.removeprefix(FENCE).removesuffix(FENCE)
    first, line_break, rest = inner.partition("\n")
    names_language = bool(line_break and _LANGUAGE.fullmatch(first.strip()))
    return (rest if names_language else inner).strip()
