"""Hints for agents: a model writes them from a run that succeeded, at three levels."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from webagent.knowledge.entries import Level
from webagent.knowledge.leaks import SourceRun, leaks
from webagent.knowledge.relevance import share_in_common, words_of
from webagent.llm.interface import LanguageModel, Request
from webagent.llm.untrusted import (
    Conversation,
    Wording,
    marked_block,
    read_wording,
    visible,
    word_outside,
)
from webagent.trajectory.canonical import json_digest
from webagent.trajectory.texts import quoted

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
    known = _flat(source.text)
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
        if share_in_common(words_of(first), words_of(second)) > TOO_ALIKE:
            found.append(f"insights {one} and {other} say the same")
    return [*found, *_length_problems(lines)]


def _leaked(text: str, source: SourceRun) -> list[str]:
    return [f"it has {leak}" for leak in leaks(text, source.literals)]


def _length_problems(lines: Sequence[str]) -> list[str]:
    if not lines:
        return ["it says nothing"]
    n = sum(map(len, lines))
    return [f"it has {n} characters; {LONGEST} are the most"] if n > LONGEST else []


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


FOLDER = Path(__file__).parent / "hint_prompts"
VERSION = "1"
MAX_TOKENS = 4096
_NUMBERED = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A hint with what it took. `cost` is in US dollars, None where a price is unknown.

    `faults` are those of the replies before, one tuple for each that was sent back.
    """

    text: str
    model: str
    asks: int
    input_tokens: int
    output_tokens: int
    cost: Decimal | None
    seconds: float
    faults: tuple[tuple[str, ...], ...] = ()


class _Step(BaseModel):
    model_config = ConfigDict(extra="forbid")

    action: str = Field(min_length=1, max_length=1000)
    details: list[str] = Field(max_length=10)


class _Procedure(BaseModel):
    model_config = ConfigDict(extra="forbid")

    steps: list[_Step] = Field(min_length=1, max_length=100)

    def lines(self) -> list[str]:
        return [_one(line) for step in self.steps for line in (step.action, *step.details)]

    def text(self) -> str:
        return "\n".join(
            "\n".join(
                (f"{number}. {_one(step.action)}", *(f"   - {_one(d)}" for d in step.details))
            )
            for number, step in enumerate(self.steps, start=1)
        )


class _Insights(BaseModel):
    model_config = ConfigDict(extra="forbid")

    insights: list[str]

    def lines(self) -> list[str]:
        return [_one(each) for each in self.insights if each.strip()]

    def text(self) -> str:
        return "\n".join(f"{n}. {line}" for n, line in enumerate(self.lines(), start=1))


_Form = type[_Procedure | _Insights]
_Check = Callable[[Sequence[str], SourceRun], list[str]]
_LEVELS: Mapping[Level, tuple[_Form, _Check]] = {
    Level.CONCRETE: (_Procedure, concrete_problems),
    Level.ABSTRACT: (_Procedure, abstract_problems),
    Level.INSIGHTS: (_Insights, insight_problems),
}


LONGEST_PART = 20_000
_SLOT = re.compile(r"\{\{\w+\}\}")
SEVERAL = "several"


class HintWords(BaseModel):
    """Other words to ask for hints with, instead of ours; what is left empty stays ours.

    `system` takes the place of the first paragraph of ours: that the record is data and no
    instruction, and the form of replies, stay. The checks of the levels stay too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=20)
    system: str = Field(default="", max_length=LONGEST_PART)
    concrete: str = Field(default="", max_length=LONGEST_PART)
    abstract: str = Field(default="", max_length=LONGEST_PART)
    insights: str = Field(default="", max_length=LONGEST_PART)

    @property
    def parts(self) -> dict[str, str]:
        """Those that are not ours."""
        return {name: text for name in OWN_PARTS if (text := getattr(self, name).strip())}

    @model_validator(mode="after")
    def _can_be_asked_with(self) -> Self:
        if not self.parts:
            raise ValueError(f"one of the parts must be given: {', '.join(OWN_PARTS)}")
        if slots := sorted({slot for text in self.parts.values() for slot in _SLOT.findall(text)}):
            raise ValueError(
                f"{', '.join(slots)}: there are no slots; the task and the run are told before"
            )
        return self


OWN_PARTS = ("system", *Level)


def load_wording(own: HintWords | None = None) -> Wording:
    """The prompts that hints are written with: ours, or others in their place.

    The SHA-256 of others is that of all parts as they are asked with.
    """
    ours = read_wording(VERSION, FOLDER)
    if own is None:
        return ours
    parts = {**ours.parts, **own.parts}
    if "system" in own.parts:
        _role, _blank, rules = ours.parts["system"].strip().partition("\n\n")
        parts["system"] = f"{own.parts['system']}\n\n{rules}"
    return Wording(own.name, json_digest(parts), parts)


def hint_request(model: str, source: SourceRun, level: Level, wording: Wording) -> Request:
    """The question that a hint is asked for with."""
    goal, log = visible(source.log.goal), source.text
    mark = word_outside((goal, log), "hint")
    told = wording.filled(
        "run", mark=mark, goal=marked_block("task", mark, goal), log=marked_block("run", mark, log)
    )
    if source.more:
        several = read_wording(SEVERAL, FOLDER).filled(SEVERAL, n=str(len(source.logs)))
        told = f"{told}\n\n{several}"
    form, _check = _LEVELS[level]
    words = f"{told}\n\n{wording.filled(level.value)}"
    return wording.request(model, words, form, f"hint_{level.value}", MAX_TOKENS)


def write_hint(
    model: LanguageModel, name: str, source: SourceRun, level: Level, wording: Wording
) -> Written:
    """A hint that passes the checks of its level, asked for again with what is wrong if need be.

    Args:
        name: of the model, in the registry.

    Raises:
        BadReply: none did.
        ModelFailure: the model gave no reply.
    """
    form, check = _LEVELS[level]
    asked = Conversation(model, hint_request(name, source, level, wording), wording, "unusable")
    read = asked.reply(form, lambda read: check(read.lines(), source))
    replies = asked.replies
    costs = [reply.cost for reply in replies if reply.cost is not None]
    return Written(
        text=read.text(),
        model=replies[-1].model,
        asks=asked.asks,
        input_tokens=sum(reply.usage.input_tokens for reply in replies),
        output_tokens=sum(reply.usage.output_tokens for reply in replies),
        cost=sum(costs, Decimal(0)) if len(costs) == len(replies) else None,
        seconds=sum(reply.seconds for reply in replies),
        faults=tuple(asked.faults),
    )


def _one(text: str) -> str:
    """The text in one line, without a number of its own."""
    return _NUMBERED.sub("", " ".join(text.split()))
