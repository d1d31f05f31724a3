"""Texts that must not name what was seen: what belongs to a run alone, and what leaks of it.

The rule, in full:

- every token with a digit that a log holds anywhere (element ids, amounts, dates, numbers of
  records, parts of addresses) belongs to the run. Tokens of letters and digits that stand on
  elements or in titles of at least two tasks, and are no element's id, belong to the site;
- what an agent typed or chose; texts in quotes in the goal; names in the goal (words with a
  capital letter inside a sentence); slugs and queries in addresses (two words or more). Of texts
  of six words or more, every five words in a row;
- of what it told the user, names, texts of up to three words, and every five words in a row;
- of names, each word of three letters or more too.

What is common is left alone, so that a general sentence can be written: a word of `INTERFACE`,
and every word or phrase that stands on elements, in titles, or outside the values of the goal in
at least two tasks. Texts of one character are too short to tell anything.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from webagent.knowledge.entries import LogStep, RunLog
from webagent.trajectory.texts import UNSPACED, quoted

IN_A_ROW = 5
"""So many words in a row of a longer text are told to come from it."""
LONGEST_ANSWER = 3
"""Words of a message that is taken for an answer rather than a sentence."""
SHORTEST_NAME = 3
TASKS_THAT_SHARE = 2

INTERFACE = frozenset((Path(__file__).parent / "interface_words.txt").read_text().split())
"""Words of interfaces, which tell nothing of a run even where somebody typed or chose them."""

_TOKEN = re.compile(r"[^\W_]+")
_NAME = re.compile(
    r"(?<![.!?:;\n]\s)(?<!^)\b[A-Z][\w’'-]*(?:\s+(?:(?:of|the|de|van|von)\s+)?[A-Z][\w’'-]*)*"
)
"""Words with a capital letter inside a sentence."""
_UNSPACED = re.compile(f"[{UNSPACED}]")


@dataclass(frozen=True, slots=True)
class Literals:
    """What must not be told: tokens with digits, and phrases of words as `words_in` gives them."""

    tokens: frozenset[str]
    phrases: frozenset[tuple[str, ...]]
    unspaced: frozenset[str]
    """Phrases of scripts without spaces, which are looked for anywhere in a text."""


def literals_of(logs: Sequence[RunLog], more: Iterable[str] = ()) -> Literals:
    """What belongs to these runs alone.

    Args:
        more: further texts whose tokens with digits are ids, such as entries that name elements.
    """
    common = _Common.of(logs)
    tokens = {token for text in more for token in words_in(text) if _has_digit(token)}
    phrases: set[tuple[str, ...]] = set()
    unspaced: set[str] = set()
    for log in logs:
        tokens.update(token for token in words_in(log.text) if _has_digit(token))
        for value in _values(log):
            words = tuple(words_in(value))
            if _UNSPACED.search(value):
                if len("".join(words)) > 1 and words not in common.phrases:
                    unspaced.add("".join(words))
            else:
                phrases.update(phrase for phrase in _parts(words) if not common.has(phrase))
        for name in _names(log):
            phrases.update(
                (word,)
                for word in words_in(name)
                if len(word) >= SHORTEST_NAME and not common.has((word,))
            )
    bids = {bid.casefold() for log in logs for step in log.steps for bid in step.bids}
    shared = {token for token in common.words if not token.isdecimal() and token not in bids}
    return Literals(frozenset(tokens - shared), frozenset(phrases), frozenset(unspaced))


def words_in(text: str) -> list[str]:
    """Runs of letters and digits, without case and width, in order."""
    return _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())


@dataclass(frozen=True, slots=True)
class _Common:
    """What tasks share: it belongs to the site."""

    words: frozenset[str]
    phrases: frozenset[tuple[str, ...]]

    @classmethod
    def of(cls, logs: Iterable[RunLog]) -> _Common:
        words: dict[str, set[str]] = defaultdict(set)
        phrases: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for log in logs:
            for text in _plain_texts(log):
                found = tuple(words_in(text))
                phrases[found].add(log.task)
                for word in found:
                    words[word].add(log.task)
        return cls(
            frozenset(word for word, tasks in words.items() if len(tasks) >= TASKS_THAT_SHARE),
            frozenset(each for each, tasks in phrases.items() if len(tasks) >= TASKS_THAT_SHARE),
        )

    def has(self, phrase: tuple[str, ...]) -> bool:
        if phrase in self.phrases:
            return True
        if len(phrase) > 1:
            return all(word in INTERFACE for word in phrase)
        return phrase[0] in INTERFACE or phrase[0] in self.words or len(phrase[0]) == 1


def _plain_texts(log: RunLog) -> Iterator[str]:
    """Words of the site and of the wording of the task: without what was put into it."""
    for step in log.steps:
        yield from step.labels
        yield step.title
    rest = log.goal
    for value in sorted({*quoted(log.goal), *_names(log)}, key=len, reverse=True):
        rest = rest.replace(value, "\n")
    yield from rest.splitlines()


def _values(log: RunLog) -> Iterator[str]:
    yield from quoted(log.goal)
    yield from _names(log)
    for step in log.steps:
        yield from step.typed
        yield from (said for said in step.said if len(words_in(said)) not in _BETWEEN)
        yield from _address_values(step)


_BETWEEN = range(LONGEST_ANSWER + 1, IN_A_ROW)


def _names(log: RunLog) -> list[str]:
    said = (text for step in log.steps for text in step.said)
    return [name for text in (log.goal, *said) for name in _NAME.findall(text)]


def _address_values(step: LogStep) -> Iterator[str]:
    try:
        parts = urlsplit(step.url)
        given = [value for _name, value in parse_qsl(parts.query)]
    except ValueError:
        return
    for part in (*parts.path.split("/"), *given):
        value = unquote(part).rsplit(".", 1)[0]
        if len(words_in(value)) > 1:
            yield value


def _parts(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The phrase, or every few words in a row of a long one."""
    if not words:
        return
    if len(words) <= IN_A_ROW:
        yield words
        return
    for start in range(len(words) - IN_A_ROW + 1):
        yield words[start : start + IN_A_ROW]


def _has_digit(token: str) -> bool:
    return any(character.isdecimal() for character in token)


class LeakKind(StrEnum):
    """What gives the source away, in words for models and people."""

    ELEMENT = "an element's id or an action"
    VALUE = "a value of the source"
    """A number, a name or a text."""
    ADDRESS = "an address"
    STEP = "a step's number"


@dataclass(frozen=True, slots=True)
class Leak:
    kind: LeakKind
    text: str

    def __str__(self) -> str:
        return f"{self.kind}, {self.text!r}"


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


_LONGEST_ID = 6
"""Longer tokens of letters and digits are numbers of records rather than of elements."""


def leaks(text: str, literals: Literals) -> list[Leak]:
    """Everything in the text that must not be there, each once, in no certain order."""
    return list(dict.fromkeys(_leaks(text, literals)))


def _leaks(text: str, literals: Literals) -> Iterator[Leak]:
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            yield Leak(kind, match[0].strip())
    words = words_in(text)
    for token in words:
        if token in literals.tokens:
            is_id = not token.isdecimal() and len(token) <= _LONGEST_ID
            yield Leak(LeakKind.ELEMENT if is_id else LeakKind.VALUE, token)
    longest = max(map(len, literals.phrases), default=0)
    for start in range(len(words)):
        for end in range(start + 1, min(start + longest, len(words)) + 1):
            if tuple(words[start:end]) in literals.phrases:
                yield Leak(LeakKind.VALUE, " ".join(words[start:end]))
    if literals.unspaced:
        together = "".join(words)
        yield from (Leak(LeakKind.VALUE, value) for value in literals.unspaced if value in together)


SHORTEST_WORD = 4
"""Shorter words of a value that fills a slot are not told apart from those of any sentence."""
_SLOT = re.compile(r"\{\{[^{}\n]*\}\}")


@dataclass(frozen=True, slots=True)
class SourceRun:
    """A run that succeeded, or several of one task.

    `template` is the task's, with `{{slots}}`, where there is one.
    """

    log: RunLog
    template: str = ""
    more: tuple[RunLog, ...] = ()
    """Further runs of the task."""

    @property
    def logs(self) -> tuple[RunLog, ...]:
        return (self.log, *self.more)

    @property
    def text(self) -> str:
        """What happened in all of the runs, one after the other."""
        if not self.more:
            return self.log.text
        n = len(self.logs)
        return "\n\n".join(
            f"Run {number} of {n}\n{log.text}" for number, log in enumerate(self.logs, start=1)
        )

    @property
    def labels(self) -> str:
        """The words on the elements that were acted on, one element a line."""
        return "\n".join(label for log in self.logs for step in log.steps for label in step.labels)

    @property
    def literals(self) -> Literals:
        """What belongs to this run alone: as `literals` says, and what its goal chose.

        That is what fills the slots of the template; without one, the labels that the goal names.
        """
        found = literals_of(list(self.logs))
        phrases = set(found.phrases)
        goals = [log.goal for log in self.logs]
        if _SLOT.search(self.template):
            usual = set(words_in(f"{self.labels}\n{_SLOT.sub(' ', self.template)}"))
            chosen = [words_in(value) for goal in goals for value in self._slot_values(goal)]
        else:
            usual = set()
            chosen = [words_in(label) for goal in goals for label in self._labels_in(goal)]
        for words in chosen:
            own = [word for word in words if word not in INTERFACE and word not in usual]
            if own:
                phrases.add(tuple(words))
                phrases.update((word,) for word in own if len(word) >= SHORTEST_WORD)
        return replace(found, phrases=frozenset(phrases))

    def _labels_in(self, goal: str) -> Iterator[str]:
        """Labels of elements that were acted on and that the goal names word for word."""
        goal = f" {' '.join(words_in(goal))} "
        for label in self.labels.splitlines():
            words = words_in(label)
            if words and f" {' '.join(words)} " in goal:
                yield label

    def _slot_values(self, goal: str) -> list[str]:
        """What stands in the goal where its template has slots; nothing if they do not fit."""
        first, *others = _SLOT.split(self.template.strip())
        goal, position = goal.strip(), len(first)
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
