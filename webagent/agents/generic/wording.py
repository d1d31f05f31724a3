"""The agent's words, in files: one a version, known by its hash, never edited once used."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

FOLDER = Path(__file__).parent / "prompts"
_SLOT = re.compile(r"\{\{(\w+)\}\}")


class PromptPart(BaseModel):
    """What a file of words is made of."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class HistoryWords(PromptPart):
    """How earlier steps are told."""

    thought_line: str
    action_line: str
    failed_line: str
    no_action_line: str
    history_left_out: str


class Example(PromptPart):
    """One good reply. It has a page as text, or a picture in words."""

    goal: str
    page: str = ""
    picture: str = ""
    thought: str
    action: str


class Words(HistoryWords):
    """What one version says. Its parts are named after the parts of a prompt."""

    system: str
    tips: str
    no_tips: str
    axtree: str
    screenshot: str
    marks: str
    reply_tags: str
    reply_json: str
    examples: str
    goal: str
    history: str
    code_word: str
    tabs: str
    error: str
    focused: str
    page: str
    ending: str
    unusable: str
    page_left_out: str
    actions: dict[str, str]
    example: tuple[Example, ...] = Field(min_length=1)


WordsT = TypeVar("WordsT", bound=PromptPart)


@dataclass(frozen=True, slots=True)
class Wording(Generic[WordsT]):
    """The words of a version, and the SHA-256 of their file."""

    version: str
    sha256: str
    words: WordsT


def load_wording(version: str) -> Wording[Words]:
    """The words of that version.

    Raises:
        ValueError: there is none; the message names those that there are.
    """
    return read_wording(version, Words, FOLDER)


@cache
def read_wording(version: str, form: type[WordsT], folder: Path) -> Wording[WordsT]:
    """The words of that version in the folder of an agent.

    Raises:
        ValueError: there is none; the message names those that there are.
    """
    if version not in (known := wording_versions(folder)):
        raise ValueError(f"there are no prompts {version!r}; there are: {', '.join(known)}")
    content = (folder / f"{version}.toml").read_bytes()
    words = form.model_validate(tomllib.loads(content.decode()))
    return Wording(version, hashlib.sha256(content).hexdigest(), words)


@cache
def wording_versions(folder: Path = FOLDER) -> tuple[str, ...]:
    """Every version, oldest first."""
    names = [path.stem for path in folder.glob("*.toml") if path.stem.isdecimal()]
    return tuple(sorted(names, key=int))


def filled(words: str, **texts: object) -> str:
    """The words with every slot filled. What is filled in is not looked at again.

    Raises:
        KeyError: a slot has no text.
    """
    return _SLOT.sub(lambda slot: str(texts[slot[1]]), words)
