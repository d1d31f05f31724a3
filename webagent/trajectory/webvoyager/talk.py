"""What the messages of a WebVoyager run say: the task, thoughts and actions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from webagent.trajectory.records import ActionRecord, Target
from webagent.trajectory.untyped import items, mapping, text

DIALECT = "webvoyager"
ANSWER = "answer"

_TASK_BEGINS = "Now given a task:"
_TASK_ENDS = re.compile(r"Please interact with\s++(?P<url>\S++) and get the answer")
_THOUGHT_BEGINS = "Thought:"
_ACTION_BEGINS = re.compile(r"^[^\S\n]*+Action:", re.MULTILINE)
_ACTION = re.compile(r"(?P<name>[A-Za-z]{1,40})\s*(?P<rest>.*)", re.DOTALL)
_ELEMENT = re.compile(r"\[?(?P<element>\d{1,9}|WINDOW)\]?\s*(?:[;,]\s*(?P<more>.*))?\Z", re.DOTALL)
_TOKENS = re.compile(r"Prompt Tokens: (\d{1,12}); Completion Tokens: (\d{1,12})")


@dataclass(frozen=True, slots=True)
class Task:
    goal: str
    url: str | None


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of the agent."""

    position: int
    raw: str
    thought: str | None
    action: ActionRecord | None


def read_task(messages: list[Any]) -> Task:
    """The task in the first message of the user; the whole message if it is worded otherwise."""
    for message in map(mapping, messages):
        if message.get("role") != "user":
            continue
        words = _words(message.get("content"))
        _, _, behind = words.partition(_TASK_BEGINS)
        end = _TASK_ENDS.search(behind)
        return Task(behind[: end.start()].strip(), end["url"]) if end else Task(words.strip(), None)
    return Task("", None)


def read_replies(messages: list[Any]) -> list[Reply]:
    """Every message of the assistant."""
    found = []
    for position, message in enumerate(map(mapping, messages)):
        if message.get("role") != "assistant":
            continue
        raw = _words(message.get("content"))
        begin = raw.find(_THOUGHT_BEGINS)
        behind = begin + len(_THOUGHT_BEGINS)
        line = _ACTION_BEGINS.search(raw, behind) if begin >= 0 else None
        thought = raw[behind : line.start()].strip() if line else None
        action = read_action(raw[line.end() :].strip()) if line else None
        found.append(Reply(position, raw, thought or None, action))
    return found


def read_action(raw: str) -> ActionRecord | None:
    """`Click [3]`, `Type [2]; text`, `Scroll [WINDOW]; down`, `Wait`, `ANSWER; text`."""
    found = _ACTION.match(raw)
    if found is None:
        return None
    name, rest = found["name"].lower(), found["rest"].strip()
    element = _ELEMENT.match(rest)
    if element is None or name == ANSWER:
        said = rest.removeprefix(";").strip()
        return ActionRecord(raw=raw, dialect=DIALECT, name=name, args=(said,) if said else ())
    args = tuple(part.strip() for part in element.groups() if part)
    target = Target(bid=args[0]) if args[0] != "WINDOW" else None
    return ActionRecord(raw=raw, dialect=DIALECT, name=name, args=args, target=target)


def read_tokens(log: str) -> list[tuple[int, int]]:
    """Tokens of each question and reply, in the order in which the log tells them."""
    return [(int(asked), int(replied)) for asked, replied in _TOKENS.findall(log)]


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, (text(mapping(part).get("text")) for part in items(content))))
