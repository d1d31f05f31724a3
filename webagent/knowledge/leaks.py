"""Texts that must not name what was seen: their sources, and what leaks into them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from webagent.knowledge.literals import INTERFACE, Literals, literals_of, words_in
from webagent.knowledge.run_log import RunLog


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


SHORTEST_WORD = 4
"""Shorter words of a value that fills a slot are not told apart from those of any sentence."""
_SLOT = re.compile(r"\{\{[^{}\n]*\}\}")


@dataclass(frozen=True, slots=True)
class SourceRun:
    """A run that succeeded. `template` is its task's, with `{{slots}}`, where there is one."""

    log: RunLog
    template: str = ""

    @property
    def labels(self) -> str:
        """The words on the elements that were acted on, one element a line."""
        return "\n".join(label for step in self.log.steps for label in step.labels)

    @property
    def literals(self) -> Literals:
        """What belongs to this run alone: as `literals` says, and what its goal chose.

        That is what fills the slots of the template; without one, the labels that the goal names.
        """
        found = literals_of([self.log])
        phrases = set(found.phrases)
        if _SLOT.search(self.template):
            usual = set(words_in(f"{self.labels}\n{_SLOT.sub(' ', self.template)}"))
            chosen = [words_in(value) for value in self._slot_values()]
        else:
            usual = set()
            chosen = [words_in(label) for label in self._labels_in_goal()]
        for words in chosen:
            own = [word for word in words if word not in INTERFACE and word not in usual]
            if own:
                phrases.add(tuple(words))
                phrases.update((word,) for word in own if len(word) >= SHORTEST_WORD)
        return replace(found, phrases=frozenset(phrases))

    def _labels_in_goal(self) -> Iterator[str]:
        """Labels of elements that were acted on and that the goal names word for word."""
        goal = f" {' '.join(words_in(self.log.goal))} "
        for label in self.labels.splitlines():
            words = words_in(label)
            if words and f" {' '.join(words)} " in goal:
                yield label

    def _slot_values(self) -> list[str]:
        """What stands in the goal where its template has slots; nothing if they do not fit."""
        first, *others = _SLOT.split(self.template.strip())
        goal, position = self.log.goal.strip(), len(first)
        if not goal.startswith(first) or not others or not goal.endswith(others[-1]):
            return []
        values = []
        for following in others[:-1]:
            end = goal.find(following, position + 1)
            if end < 0:
                return []
            values.append(goal[position:end])
            position = end + len(following)
        values.append(goal[position : len(goal) - len(others[-1])])
        return values if len(goal) - len(others[-1]) > position else []
