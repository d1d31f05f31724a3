"""Texts that prose puts in quotation marks, such as a goal that a person wrote.

Written code has marks of its own, read where it is read: names in trees (`axtree`), calls
(`actions`). So have the goals of generated tasks (`webagent.agents.reading.quoted`).
"""

from __future__ import annotations

import re

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
