"""What the requests of all agents have in common: a budget, and unusable replies sent back."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from webagent.agents.generic.action_space import Action, BadAction, read_action
from webagent.agents.generic.wording import filled
from webagent.llm.budget import fitting
from webagent.llm.interface import Message, Request
from webagent.llm.registry import ModelEntry
from webagent.llm.untrusted import visible, without_fence
from webagent.trajectory.records import ActionRecord

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
        raise UnusableReply("it is not a JSON object with thought and action.") from None
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
