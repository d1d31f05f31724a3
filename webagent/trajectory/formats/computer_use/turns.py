"""Both vendors' messages as turns: what was thought, which calls were made, what they showed."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from webagent.trajectory.files.run_files import BLOB_KEY
from webagent.trajectory.values import flag, items, mapping, said, text

ANTHROPIC, OPENAI = "anthropic_computer", "openai_computer"

_COMPUTER_CALLS = frozenset(("computer_call", "computer_use_call"))
_CALLS = _COMPUTER_CALLS | {"function_call", "custom_tool_call"}


@dataclass(slots=True)
class Dump:
    """What one file holds."""

    messages: list[Any]
    model: str | None = None
    system: str | None = None
    tools: list[Any] = field(default_factory=list)
    usage: Any = None
    bad_lines: int = 0


@dataclass(slots=True, kw_only=True)
class Result:
    """What came back from a call."""

    words: str = ""
    pictures: list[str] = field(default_factory=list)
    """Hashes."""
    unseen: list[str] = field(default_factory=list)
    """Why a picture that is meant cannot be shown: a link, an id at the vendor."""
    is_error: bool = False
    acknowledged: list[Any] = field(default_factory=list)
    """Safety checks that somebody let pass."""


@dataclass(slots=True, kw_only=True)
class Call:
    """One call; batched ones hold several actions."""

    id: str | None
    actions: list[tuple[Any, str | None, dict[str, Any]]]
    """Each verbatim, with its name and its arguments."""
    safety: list[Any] = field(default_factory=list)
    result: Result | None = None


@dataclass(slots=True, kw_only=True)
class Turn:
    """One answer of the model."""

    reasoning: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """What the user said before it, other than the first task."""
    usage: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Conversation:
    dialect: str
    goal: str = ""
    goal_pictures: list[str] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)


def read_conversation(messages: list[Any]) -> Conversation:
    """The turns of a conversation without pictures in base64 (`{"$blob": hash}` stands there)."""
    known = [mapping(message) for message in messages]
    if any(text(message.get("type")) in _CALLS or "output" in message for message in known):
        return _openai(known)
    return _anthropic(known)


def _anthropic(messages: Iterable[dict[str, Any]]) -> Conversation:
    talk = Conversation(ANTHROPIC)
    open_calls: dict[str | None, Call] = {}
    waiting: list[str] = []
    for message in messages:
        content = message.get("content")
        if message.get("role") == "assistant":
            turn = Turn(asked=waiting, usage=mapping(message.get("usage")))
            waiting = []
            for block in _blocks(content):
                _assistant_block(turn, block)
            talk.turns.append(turn)
            open_calls = {call.id: call for call in turn.calls}
        elif message.get("role") == "user":
            for block in _blocks(content):
                if block.get("type") == "tool_result":
                    if call := open_calls.get(text(block.get("tool_use_id"))):
                        call.result = _anthropic_result(block)
                else:
                    _user_block(talk, waiting, block)
    return talk


def _assistant_block(turn: Turn, block: dict[str, Any]) -> None:
    match block.get("type"):
        case "thinking":
            turn.reasoning += [words] if (words := text(block.get("thinking"))) else []
        case "text":
            turn.words += [words] if (words := text(block.get("text"))) else []
        case "tool_use" | "server_tool_use":
            turn.calls.append(_tool_use(block))


def _tool_use(block: dict[str, Any]) -> Call:
    """One tool with `action` inside, or a tool for each action with `toolset_name`."""
    given = mapping(block.get("input"))
    name = text(block.get("name"))
    inner = text(given.get("action")) if not block.get("toolset_name") else None
    raw = {key: block[key] for key in ("name", "input", "toolset_name") if key in block}
    arguments = {k: v for k, v in given.items() if inner is None or k != "action"}
    return Call(id=text(block.get("id")), actions=[(raw, inner or name, arguments)])


def _anthropic_result(block: dict[str, Any]) -> Result:
    content = block.get("content")
    found = Result(words="\n".join(said(content)), is_error=bool(flag(block.get("is_error"))))
    for part in map(mapping, items(content)):
        if part.get("type") == "image":
            _take_picture(found, mapping(part.get("source")))
    return found


def _take_picture(found: Result, source: dict[str, Any]) -> None:
    sha256 = mapping(source.get("data")).get(BLOB_KEY)
    if isinstance(sha256, str):
        found.pictures.append(sha256)
    elif source.get("type") == "base64":
        found.unseen.append("not a readable picture")
    elif source.get("type") == "url":
        found.unseen.append("a link, and links are not fetched")
    else:
        found.unseen.append("a file at the vendor, which is not here")


def _user_block(talk: Conversation, waiting: list[str], block: dict[str, Any]) -> None:
    words = text(block.get("text"))
    if words and not talk.turns:
        talk.goal = f"{talk.goal}\n{words}".strip()
    elif words:
        waiting.append(words)
    sha256 = mapping(mapping(block.get("source")).get("data")).get(BLOB_KEY)
    shown = sha256 or mapping(block.get("image_url")).get(BLOB_KEY)
    if isinstance(shown, str) and not talk.turns:
        talk.goal_pictures.append(shown)


def _openai(items_: Iterable[dict[str, Any]]) -> Conversation:
    """A turn ends where results follow: what the model wrote before them belongs together."""
    talk = Conversation(OPENAI)
    open_calls: dict[str | None, Call] = {}
    waiting: list[str] = []
    turn: Turn | None = None
    answered = False
    for item in _flat(items_):
        kind = text(item.get("type")) or "message"
        if kind.endswith("_output"):
            if call := open_calls.get(text(item.get("call_id"))):
                call.result = _openai_result(item)
            answered = True
            continue
        if kind == "message" and item.get("role") != "assistant":
            if item.get("role") == "user":
                for block in _blocks(item.get("content")):
                    _user_block(talk, waiting, block)
                answered = True
            continue
        if turn is None or answered or "$response" in item:
            turn, answered = Turn(asked=waiting), False
            talk.turns.append(turn)
            waiting = []
        turn.usage = mapping(item.get("$response")) or turn.usage
        _openai_item(turn, kind, item, open_calls)
    return talk


def _flat(items_: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """The items of whole responses too; the first of each carries the response's usage."""
    for item in items_:
        output = item.get("output")
        if isinstance(output, list) and item.get("type") in (None, "response"):
            for place, inner in enumerate(map(mapping, output)):
                yield inner | {"$response": item.get("usage") or {"": 0}} if place == 0 else inner
        else:
            yield item


def _openai_item(
    turn: Turn, kind: str, item: dict[str, Any], open_calls: dict[str | None, Call]
) -> None:
    if kind == "reasoning":
        turn.reasoning += said(item.get("summary"))
    elif kind == "message":
        turn.words += said(item.get("content"))
    elif kind in _CALLS:
        call = _openai_call(kind, item)
        turn.calls.append(call)
        open_calls[call.id] = call


def _openai_call(kind: str, item: dict[str, Any]) -> Call:
    """One `action`, or `actions` in a batch."""
    identity = text(item.get("call_id")) or text(item.get("id"))
    if kind not in _COMPUTER_CALLS:
        raw = {key: item[key] for key in ("name", "arguments", "input") if key in item}
        named = _arguments(item.get("arguments", item.get("input")))
        return Call(id=identity, actions=[(raw, text(item.get("name")), named)])
    actions = items(item.get("actions")) or [item.get("action")]
    return Call(
        id=identity,
        actions=[(action, *_named(mapping(action))) for action in actions],
        safety=items(item.get("pending_safety_checks")),
    )


def _named(action: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    return text(action.get("type")), {k: v for k, v in action.items() if k != "type"}


def _arguments(given: Any) -> dict[str, Any]:
    """Of a function: an object, mostly spelled as JSON."""
    try:
        read = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) else {"arguments": given}


def _openai_result(item: dict[str, Any]) -> Result:
    found = Result(acknowledged=items(item.get("acknowledged_safety_checks")))
    output = item.get("output")
    if isinstance(output, str):
        found.words = output
        return found
    for part in map(mapping, items(output) or [output]):
        if "image_url" in part or part.get("type") in ("computer_screenshot", "input_image"):
            shown = part.get("image_url")
            sha256 = mapping(shown).get(BLOB_KEY)
            if isinstance(sha256, str):
                found.pictures.append(sha256)
            elif isinstance(shown, str):
                found.unseen.append("a link, and links are not fetched")
            elif part.get("file_id"):
                found.unseen.append("a file at the vendor, which is not here")
            else:
                found.unseen.append("not a readable picture")
        elif words := text(part.get("text")):
            found.words = f"{found.words}\n{words}".strip()
    return found


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [mapping(part) for part in items(content)]
