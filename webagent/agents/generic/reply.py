"""What a model said: a thought and one action, or why it cannot be used."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from webagent.agents.generic.action_space import Action, BadAction, read_action
from webagent.llm.fences import without_fence
from webagent.trajectory.records import ActionRecord

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
