"""What a hint must not say, found mechanically. A list of problems in words for the model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from webagent.knowledge.hint_source import SourceRun
from webagent.knowledge.leaks import leaks
from webagent.knowledge.relevance import words_of
from webagent.trajectory.quotations import quoted

FEWEST, MOST = 8, 15
"""How many insights there must be."""
LONGEST = 12_000
"""Characters of one hint, so that no prompt has to cut it."""
TOO_ALIKE = 0.8
"""Share of words that two insights may not have in common."""

_EXAMPLE = re.compile(
    r"\be\.\s?g\.|\bfor (?:example|instance)\b|\bsuch as\b|例えば|たとえば", re.IGNORECASE
)
_PLACEHOLDER = re.compile(r"<[^<>\n]{1,60}>|\{[^{}\n]{1,60}\}|\[[^\[\]\n]{1,60}\]")
_NUMBER = re.compile(r"\d+")
_ORDER = re.compile(
    r"(?:^|[.;:,]\s+|\band\s+)"
    r"(first|firstly|secondly|next|then|afterwards|after that|finally|lastly|subsequently)\b",
    re.IGNORECASE,
)


def concrete_problems(lines: Sequence[str], source: SourceRun) -> list[str]:
    """What a concrete procedure has made up: texts in quotes that the run never showed."""
    known = _flat(source.log.text)
    made_up = [
        text for line in lines for text in quoted(line) if _flat(text) and _flat(text) not in known
    ]
    found = [f"{text!r} is in quotes but appears nowhere in the run" for text in made_up]
    return [*found, *_length_problems(lines)]


def abstract_problems(lines: Sequence[str], source: SourceRun) -> list[str]:
    """Which sample values an abstract procedure holds, of this run or made up."""
    text = "\n".join(lines)
    found = _leaked(text, source)
    for pattern, words in (
        (_NUMBER, "it has a number: {}"),
        (_EXAMPLE, "it gives an example: {}"),
        (_PLACEHOLDER, "it has a placeholder: {}"),
    ):
        found += [words.format(each[0]) for each in pattern.finditer(text)]
    labels = _flat(source.labels)
    found += [
        f"{label!r} is in quotes but is no label of an element that the run acted on"
        for line in lines
        for label in quoted(line)
        if _flat(label) not in labels
    ]
    return [*dict.fromkeys(found), *_length_problems(lines)]


def insight_problems(lines: Sequence[str], source: SourceRun) -> list[str]:
    """Whether insights are too few or too many, hang together, or speak of this task alone."""
    found = []
    if not FEWEST <= len(lines) <= MOST:
        found.append(f"there are {len(lines)} insights; there must be {FEWEST} to {MOST}")
    for number, line in enumerate(lines, start=1):
        found += [f"insight {number} tells an order: {each[1]!r}" for each in _ORDER.finditer(line)]
        found += [f"insight {number} quotes {each!r}" for each in quoted(line)]
    found += _leaked("\n".join(lines), source)
    for (one, first), (other, second) in combinations(enumerate(lines, start=1), 2):
        if _likeness(first, second) > TOO_ALIKE:
            found.append(f"insights {one} and {other} say the same")
    return [*found, *_length_problems(lines)]


def _leaked(text: str, source: SourceRun) -> list[str]:
    return [f"it has {leak}" for leak in leaks(text, source.literals)]


def _likeness(one: str, other: str) -> float:
    first, second = set(words_of(one)), set(words_of(other))
    return len(first & second) / len(first | second) if first | second else 1.0


def _length_problems(lines: Sequence[str]) -> list[str]:
    if not lines:
        return ["it says nothing"]
    n = sum(map(len, lines))
    return [f"it has {n} characters; {LONGEST} are the most"] if n > LONGEST else []


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())
