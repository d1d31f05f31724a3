"""Hints for agents: a model writes them from a run that succeeded, at three levels."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from webagent.knowledge.hint_checks import abstract_problems, concrete_problems, insight_problems
from webagent.knowledge.hint_source import SourceRun
from webagent.knowledge.levels import Level
from webagent.llm.interface import LanguageModel, Message, Reply, Request
from webagent.llm.untrusted import marked_block, visible, word_outside
from webagent.misfits import misfits

FOLDER = Path(__file__).parent / "hint_prompts"
VERSION = "1"
MAX_ASKS = 3
"""How often a hint is asked for that keeps being wrong."""
MAX_TOKENS = 4096
MOST_PROBLEMS = 20
"""So many faults of a reply are told to the model."""
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_NUMBERED = re.compile(r"^\s*(?:\d+[.)]|[-*•])\s+")


class HintRefused(ValueError):
    """The model wrote nothing that passes the checks; the message says what was wrong last."""

    def __init__(self, message: str, asks: int) -> None:
        super().__init__(message)
        self.asks = asks


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


@dataclass(frozen=True, slots=True)
class Wording:
    """The prompts of a version, and the SHA-256 of their file."""

    version: str
    sha256: str
    parts: Mapping[str, str]

    def filled(self, part: str, **texts: str) -> str:
        """A part with every slot filled. What is filled in is not looked at again."""
        return _SLOT.sub(lambda slot: texts[slot[1]], self.parts[part]).strip()


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


_Form = type[_Procedure] | type[_Insights]
_Check = Callable[[Sequence[str], SourceRun], list[str]]
_LEVELS: Mapping[Level, tuple[_Form, _Check]] = MappingProxyType(
    {
        Level.CONCRETE: (_Procedure, concrete_problems),
        Level.ABSTRACT: (_Procedure, abstract_problems),
        Level.INSIGHTS: (_Insights, insight_problems),
    }
)


@cache
def load_wording(version: str = VERSION) -> Wording:
    """The prompts of that version."""
    content = (FOLDER / f"{version}.toml").read_bytes()
    return Wording(version, hashlib.sha256(content).hexdigest(), tomllib.loads(content.decode()))


def hint_request(model: str, source: SourceRun, level: Level, wording: Wording) -> Request:
    """The question that a hint is asked for with."""
    goal, log = visible(source.log.goal), source.log.text
    mark = word_outside((goal, log), "hint")
    told = wording.filled(
        "run", mark=mark, goal=marked_block("task", mark, goal), log=marked_block("run", mark, log)
    )
    form, _check = _LEVELS[level]
    return Request(
        model=model,
        system=wording.filled("system"),
        messages=(Message.user(f"{told}\n\n{wording.filled(level.value)}"),),
        schema=_strict(form.model_json_schema()),
        schema_name=f"hint_{level.value}",
        max_tokens=MAX_TOKENS,
    )


def write_hint(
    model: LanguageModel,
    name: str,
    source: SourceRun,
    level: Level,
    *,
    wording: Wording | None = None,
    max_asks: int = MAX_ASKS,
) -> Written:
    """A hint that passes the checks of its level, asked for again with what is wrong if need be.

    Args:
        name: of the model, in the registry.

    Raises:
        HintRefused: none did.
        ModelFailure: the model gave no reply.
    """
    wording = wording or load_wording()
    form, check = _LEVELS[level]
    request = hint_request(name, source, level, wording)
    replies: list[Reply] = []
    faults: list[tuple[str, ...]] = []
    while len(replies) < max_asks:
        replies.append(reply := model.complete(request))
        read, problems = _read(reply.text, form, check, source)
        if read is not None and not problems:
            return _written(read.text(), replies, faults)
        faults.append(tuple(problems))
        told = "\n".join(f"- {problem}" for problem in problems[:MOST_PROBLEMS])
        request = replace(
            request,
            messages=(
                *request.messages,
                Message.assistant(visible(reply.text).strip() or "(nothing)"),
                Message.user(wording.filled("unusable", problems=visible(told))),
            ),
        )
    raise HintRefused("; ".join(faults[-1][:MOST_PROBLEMS]), len(replies))


def _read(
    text: str, form: _Form, check: _Check, source: SourceRun
) -> tuple[_Procedure | _Insights | None, list[str]]:
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text.partition("\n")[2].removesuffix("```")
    try:
        read = form.model_validate_json(text)
    except ValidationError as error:
        return None, list(map(str, misfits(error)))
    return read, check(read.lines(), source)


def _written(text: str, replies: Sequence[Reply], faults: list[tuple[str, ...]]) -> Written:
    costs = [reply.cost for reply in replies if reply.cost is not None]
    return Written(
        text=text,
        model=replies[-1].model,
        asks=len(replies),
        input_tokens=sum(reply.usage.input_tokens for reply in replies),
        output_tokens=sum(reply.usage.output_tokens for reply in replies),
        cost=sum(costs, Decimal(0)) if len(costs) == len(replies) else None,
        seconds=sum(reply.seconds for reply in replies),
        faults=tuple(faults),
    )


def _one(text: str) -> str:
    """The text in one line, without a number of its own."""
    return _NUMBERED.sub("", " ".join(text.split()))


def _strict(schema: dict[str, object]) -> dict[str, object]:
    """The schema as providers take it: without the limits that not all of them know."""
    dropped = {"minLength", "maxLength", "minItems", "maxItems", "title"}

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items() if key not in dropped}
        return [plain(each) for each in value] if isinstance(value, list) else value

    return {key: plain(value) for key, value in schema.items() if key not in dropped}
