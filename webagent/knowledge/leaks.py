"""What a summary must not hold, found mechanically: ids of elements and values of its sources.

`literals` says what a value is. Beside values, these are leaks wherever they come from: calls of
actions, ids in brackets, ids named as such, addresses, e-mail addresses and numbers of steps.
A number in words (“three”) is not seen.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from webagent.knowledge.literals import Literals, words_in


class LeakKind(StrEnum):
    """What gives the source away."""

    ELEMENT = "element"
    """An element's id, or an action with one."""
    VALUE = "value"
    """A number, name or text of the source."""
    ADDRESS = "address"
    STEP = "step"
    """A step's number."""


@dataclass(frozen=True, slots=True)
class Leak:
    kind: LeakKind
    text: str

    def __str__(self) -> str:
        return f"{_WORDS[self.kind]} {self.text!r}"


_WORDS = {
    LeakKind.ELEMENT: "an element's id or an action,",
    LeakKind.VALUE: "a value of the source,",
    LeakKind.ADDRESS: "an address,",
    LeakKind.STEP: "a step's number,",
}
_PATTERNS = (
    (
        LeakKind.ADDRESS,
        re.compile(r"\b\w+://\S+|\bwww\.\S+|(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.\w+)+"),
    ),
    (LeakKind.ELEMENT, re.compile(r"\b[a-z_]+\(\s*['\"‘“][^)\n]{0,80}\)")),
    (LeakKind.ELEMENT, re.compile(r"[\[(]\s*['\"]?[a-zA-Z]{0,2}\d+['\"]?\s*[\])]")),
    (LeakKind.ELEMENT, re.compile(r"\bbid\b\W{0,3}\w*\d\w*", re.IGNORECASE)),
    (LeakKind.ELEMENT, re.compile(r"\bid\s*[=:#]\s*\S+", re.IGNORECASE)),
    (LeakKind.STEP, re.compile(r"\bsteps?\s+#?\d+", re.IGNORECASE)),
)


def leaks(text: str, literals: Literals) -> list[Leak]:
    """Everything in the text that must not be there, each once, in no certain order."""
    found = dict.fromkeys([*_patterns(text), *_tokens(text, literals), *_phrases(text, literals)])
    return list(found)


def _patterns(text: str) -> Iterator[Leak]:
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            yield Leak(kind, match[0].strip())


def _tokens(text: str, literals: Literals) -> Iterator[Leak]:
    for token in words_in(text):
        if token in literals.tokens:
            is_id = not token.isdecimal() and len(token) <= _LONGEST_ID
            yield Leak(LeakKind.ELEMENT if is_id else LeakKind.VALUE, token)


_LONGEST_ID = 6
"""Longer tokens of letters and digits are numbers of records rather than of elements."""


def _phrases(text: str, literals: Literals) -> Iterator[Leak]:
    words = words_in(text)
    longest = max(map(len, literals.phrases), default=0)
    for start in range(len(words)):
        for end in range(start + 1, min(start + longest, len(words)) + 1):
            if tuple(words[start:end]) in literals.phrases:
                yield Leak(LeakKind.VALUE, " ".join(words[start:end]))
    if literals.unspaced:
        together = "".join(words_in(unicodedata.normalize("NFKC", text)))
        yield from (Leak(LeakKind.VALUE, value) for value in literals.unspaced if value in together)
