"""Worked examples: what was on the screen, and the reply that led on, one task after another."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from webagent.agents.screen.reply import ScreenReply

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
