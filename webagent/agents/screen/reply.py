"""What a model said about a screen: its thoughts and commands, or why it cannot be used."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from webagent.agents.generic.request import UnusableReply, bare
from webagent.agents.screen.commands import MOST_COMMANDS, Command, Pointer
from webagent.field_errors import field_errors
from webagent.knowledge.asking import strict_schema

LONGEST_REPLY = 100_000
MOST_PROBLEMS = 5


class ScreenReply(BaseModel):
    """`commands` are carried out in their order; none of them: there is nothing left to do."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    thought: str
    plan: str
    self_critique: str
    commands: list[Command] = Field(max_length=MOST_COMMANDS)

    @property
    def said(self) -> str:
        """Thought, plan and self-critique as one text."""
        named = (("", self.thought), ("Plan: ", self.plan), ("Self-critique: ", self.self_critique))
        return "\n\n".join(f"{name}{text.strip()}" for name, text in named if text.strip())


SCHEMA = strict_schema(ScreenReply)


def read_reply(text: str, size: tuple[int, int]) -> ScreenReply:
    """The reply, all of its pixels on a screenshot of that size (width, height).

    Raises:
        UnusableReply: it has another form, or points outside.
    """
    if len(text) > LONGEST_REPLY:
        raise UnusableReply(f"it is longer than {LONGEST_REPLY} characters.")
    try:
        reply = ScreenReply.model_validate_json(bare(text))
    except ValidationError as error:
        told = "; ".join(map(str, field_errors(error)[:MOST_PROBLEMS]))
        raise UnusableReply(f"it is not the JSON object that is wanted ({told}).") from None
    width, height = size
    for number, command in enumerate(reply.commands):
        if not isinstance(command, Pointer):
            continue
        if not (0 <= command.x < width and 0 <= command.y < height):
            raise UnusableReply(
                f"commands.{number}: ({command.x}, {command.y}) lies outside the screenshot, which"
                f" is {width} pixels wide and {height} high.",
                reply.said or None,
            )
    return reply


FOLDER = Path(__file__).parent / "examples"
MOST_TURNS = 10


class WorkedTurn(ScreenReply):
    """One reply, with the lines of the screen that it was given for."""

    screen: str

    @property
    def as_reply(self) -> str:
        """The JSON that a model would have written."""
        return json.dumps(self.model_dump(exclude={"screen"}), ensure_ascii=False)


class WorkedExample(BaseModel):
    """A task that was carried out, turn by turn.

    `task` is the last part of its page's address, without the ending; without it the example is
    for every task that has none of its own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str = ""
    goal: str
    turns: tuple[WorkedTurn, ...] = Field(min_length=1, max_length=MOST_TURNS)


class Examples(BaseModel):
    """Examples, at most one a task; `sha256` is that of their content."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    examples: tuple[WorkedExample, ...] = ()
    sha256: str = ""

    def of(self, url: str) -> WorkedExample | None:
        """The example for the task whose page has this address."""
        task = PurePosixPath(urlsplit(url).path).stem
        known = {example.task: example for example in self.examples}
        return known.get(task) or known.get("")


def load_examples(given: str | Sequence[WorkedExample]) -> Examples:
    """The examples of a file by its name, or as they were given.

    Raises:
        ValueError: there is no such file; the message names those that there are.
    """
    return _from_file(given) if isinstance(given, str) else _checked(given)


@cache
def example_files() -> tuple[str, ...]:
    """The names of the files that come with this."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


@cache
def _from_file(name: str) -> Examples:
    if not name:
        return Examples()
    if name not in example_files():
        known = ", ".join(example_files()) or "none"
        raise ValueError(f"examples: there is no file {name!r}; there are: {known}")
    content = tomllib.loads((FOLDER / f"{name}.toml").read_text())
    return _checked(TypeAdapter(list[WorkedExample]).validate_python(content["example"]))


def _checked(examples: Sequence[WorkedExample]) -> Examples:
    tasks = [example.task for example in examples]
    if twice := sorted({task for task in tasks if tasks.count(task) > 1}):
        raise ValueError(f"examples: there are two for {twice[0]!r}")
    said = json.dumps([example.model_dump() for example in examples])
    return Examples(examples=tuple(examples), sha256=hashlib.sha256(said.encode()).hexdigest())
