"""The agent's words, in files: one a version, known by its hash, never edited once used."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

FOLDER = Path(__file__).parent / "prompts"
_SLOT = re.compile(r"\{\{(\w+)\}\}")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Example(_Part):
    """One good reply. It has a page as text, or a picture in words."""

    goal: str
    page: str = ""
    picture: str = ""
    thought: str
    action: str


class Words(_Part):
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
    thought_line: str
    action_line: str
    failed_line: str
    no_action_line: str
    history_left_out: str
    page_left_out: str
    actions: dict[str, str]
    example: tuple[Example, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a version, and the SHA-256 of their file."""

    version: str
    sha256: str
    words: Words


@cache
def load_wording(version: str) -> Wording:
    """The words of that version.

    Raises:
        ValueError: there is none; the message names those that there are.
    """
    if version not in (known := wording_versions()):
        raise ValueError(f"there are no prompts {version!r}; there are: {', '.join(known)}")
    content = (FOLDER / f"{version}.toml").read_bytes()
    words = Words.model_validate(tomllib.loads(content.decode()))
    return Wording(version, hashlib.sha256(content).hexdigest(), words)


@cache
def wording_versions() -> tuple[str, ...]:
    """Every version, oldest first."""
    names = [path.stem for path in FOLDER.glob("*.toml") if path.stem.isdecimal()]
    return tuple(sorted(names, key=int))


def filled(words: str, **texts: object) -> str:
    """The words with every slot filled. What is filled in is not looked at again.

    Raises:
        KeyError: a slot has no text.
    """
    return _SLOT.sub(lambda slot: str(texts[slot[1]]), words)
