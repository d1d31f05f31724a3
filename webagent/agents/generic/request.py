"""What the requests of all agents have in common: words, a budget, unusable replies sent back.

The words are in files: one a version, known by its hash, never edited once used.
"""

import hashlib
import json
import tomllib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from webagent.agents.generic.action_space import Action, BadAction, read_action
from webagent.llm.budget import fitting
from webagent.llm.interface import Message, Request
from webagent.llm.registry import ModelEntry
from webagent.llm.untrusted import filled, visible, without_fence
from webagent.trajectory.records import ActionRecord

FOLDER = Path(__file__).parent / "prompts"


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
    """The words of that version; see `read_wording`."""
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


REPLY_SHARE = 12
"""Each unusable reply may have a twelfth, when the model is shown it again,"""
LONGEST_REPLY_BACK = 4000
"""and no more than so many characters."""


class PromptTooLong(ValueError):
    """Not even goal and actions fit; the message says how much there is and would be needed."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A reply that could not be used, and why."""

    text: str
    problem: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request. `marked` is the picture with marks, if there is one in it."""

    request: Request
    tokens: int
    marked: bytes | None = None


def token_budget(entry: ModelEntry, *, max_prompt_tokens: int, max_reply_tokens: int) -> int:
    """Tokens of a prompt: as many as are set, and as the model's context leaves beside a reply."""
    if entry.context_tokens is None:
        return max_prompt_tokens
    return min(max_prompt_tokens, entry.context_tokens - max_reply_tokens)


def latest_that_fit(
    failed: Sequence[Failed],
    most: int,
    tokens_with: Callable[[Sequence[Failed]], int],
    *,
    what: str,
) -> tuple[Sequence[Failed], int]:
    """The latest replies that can be sent back, and the tokens of them with what is never cut.

    Args:
        most: tokens of the whole prompt.
        tokens_with: those of what is never cut (in words: `what`) with these replies.

    Raises:
        PromptTooLong: it does not even fit without any.
    """
    tokens = tokens_with(failed)
    while tokens > most and failed:
        failed = failed[1:]
        tokens = tokens_with(failed)
    if tokens > most:
        raise PromptTooLong(
            f"{what} alone take about {tokens} tokens, but the prompt may have {most} (the smaller"
            " of max_prompt_tokens and what the model's context leaves beside a reply)"
        )
    return failed, tokens


def sent_back(
    failed: Sequence[Failed], *, tokens: int, unusable: str, reply_form: str
) -> list[Message]:
    """The replies, each with why it could not be used.

    Args:
        tokens: of each reply at most.
        unusable: the words for that, with slots for `problem` and `reply`.
    """
    messages = []
    for each in failed:
        # A reply without any text is none that a provider takes back.
        said = fitting(visible(each.text).strip()[:LONGEST_REPLY_BACK], tokens) or "(nothing)"
        problem = filled(unusable, problem=visible(each.problem), reply=reply_form)
        messages += [Message.assistant(said), Message.user(problem.strip())]
    return messages


SCHEMA = {
    "type": "object",
    "properties": {"thought": {"type": "string"}, "action": {"type": "string"}},
    "required": ["thought", "action"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Reply:
    """`action` is the call as it was written; `call` is what it says."""

    thought: str | None
    action: str
    call: ActionRecord


class UnusableReply(ValueError):
    """The message tells the model what to do better. `thought` is what could be read of one."""

    def __init__(self, message: str, thought: str | None = None) -> None:
        super().__init__(message)
        self.thought = thought


def read_reply(
    text: str,
    form: Literal["tags", "json"],
    allowed: Collection[Action],
    bids: Collection[str] | None = None,
) -> Reply:
    """Thought and action of a reply.

    Raises:
        UnusableReply: it has another form, or its action is none.
    """
    thought, written = _read_json(text) if form == "json" else _read_tags(text)
    action = bare(written)
    try:
        return Reply(thought, action, read_action(action, allowed, bids))
    except BadAction as error:
        raise UnusableReply(f"{error}.", thought) from None


def _read_tags(text: str) -> tuple[str | None, str]:
    thought = _between(text, "thought") or text.partition("<action>")[0].strip() or None
    count = text.count("<action>")
    if count != 1:
        found = "no <action>" if count == 0 else f"{count} times <action>"
        raise UnusableReply(f"it has {found}; give exactly one.", thought)
    action = _between(text, "action")
    if action is None:
        raise UnusableReply("the closing </action> is missing.", thought)
    return thought, action


def _between(text: str, tag: str) -> str | None:
    _, opening, rest = text.partition(f"<{tag}>")
    inside, closing, _ = rest.partition(f"</{tag}>")
    return inside.strip() or None if opening and closing else None


def _read_json(text: str) -> tuple[str | None, str]:
    try:
        value = json.loads(bare(text))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UnusableReply("it is not a JSON object with thought and action.")
    thought, action = value.get("thought"), value.get("action")
    said = thought.strip() or None if isinstance(thought, str) else None
    if not isinstance(action, str):
        raise UnusableReply("it has no text `action`.", said)
    return said, action


def bare(text: str) -> str:
    """The text without a code fence or back quotes around it."""
    return without_fence(text).strip("`").strip()
