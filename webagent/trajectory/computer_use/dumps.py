"""Which files are message logs of computer use, and what is in them besides the messages."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from webagent.trajectory.bounds import BoundError, Bounds
from webagent.trajectory.bundles import CUT_SHORT
from webagent.trajectory.lines import BROKEN, json_values
from webagent.trajectory.recognition import outline
from webagent.trajectory.texts import decoded
from webagent.trajectory.trees import READ_CHUNK, READ_ERRORS, Tree, TreeError, read_file
from webagent.trajectory.values import items, mapping, text

_LISTS = ("messages", "items", "input", "output")
_FIRST_KEYS = ("role", "type", "output", "content")
_COMPUTER_CALL = re.compile(rb'"type"\s{0,9}:\s{0,9}"computer_call"')
_TOOL_USE = re.compile(rb'"type"\s{0,9}:\s{0,9}"tool_use"')
_COMPUTER = re.compile(
    rb'"name"\s{0,9}:\s{0,9}"computer"|"computer_\d{8}"'
    rb'|"toolset_name"\s{0,9}:\s{0,9}"(?:computer|browser)"'
)
_LONGEST_SIGN = 64


@dataclass(slots=True)
class Dump:
    """One file."""

    messages: list[Any]
    model: str | None = None
    system: str | None = None
    tools: list[Any] = field(default_factory=list)
    usage: Any = None
    bad_lines: int = 0


def find_dumps(tree: Tree, bounds: Bounds) -> list[str]:
    """Every JSON or JSON Lines file in which a computer is used."""
    return [
        name
        for name in tree.names
        if name.endswith((".json", ".jsonl"))
        and _may_be(tree, name)
        and _uses_computer(tree, name, bounds.json_bytes)
    ]


def read_dump(tree: Tree, name: str, bounds: Bounds) -> Dump:
    """The messages of one file, in whatever wrapping.

    Raises:
        ValueError: no JSON, too large, or no messages in it.
    """
    try:
        content = decoded(read_file(tree, name, bounds.json_bytes))
    except (BoundError, TreeError) as error:
        raise ValueError(str(error)) from error
    try:
        value = json.loads(content)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except ValueError:
        return _from_lines(content)
    if isinstance(value, list):
        return Dump(value)
    document = mapping(value)
    messages = _messages(document)
    if messages is None:
        raise ValueError(f"none of {', '.join(_LISTS)} is a list")
    return Dump(
        messages,
        model=text(document.get("model")),
        system=text(document.get("system")) or text(document.get("instructions")),
        tools=items(document.get("tools")),
        usage=document.get("usage"),
    )


def _messages(document: dict[str, Any]) -> list[Any] | None:
    """The list of messages; of a request with its response, what was sent and what came back."""
    sent, came = document.get("input"), document.get("output")
    if isinstance(sent, str) and sent and isinstance(came, list):
        return [{"role": "user", "content": sent}, *came]
    if isinstance(sent, list) and isinstance(came, list):
        return [*sent, *came]
    return next(
        (items(document[key]) for key in _LISTS if isinstance(document.get(key), list)), None
    )


def _from_lines(content: str) -> Dump:
    """One message or one whole response a line.

    Raises:
        ValueError: no line is JSON, or the last one is cut.
    """
    found = Dump([])
    value: Any = None
    for value in json_values(content.split("\n")):
        if value is BROKEN:
            found.bad_lines += 1
            continue
        found.messages.append(value)
        found.model = found.model or text(mapping(value).get("model"))
        found.tools = found.tools or items(mapping(value).get("tools"))
    if not found.messages:
        raise ValueError("neither a JSON document nor lines of JSON")
    if value is BROKEN:
        raise ValueError(CUT_SHORT)
    return found


def _may_be(tree: Tree, name: str) -> bool:
    head = outline(tree, name)
    if head.kind == "array":
        return any(key in head.keys for key in _FIRST_KEYS)
    return head.kind == "object" and any(key in head.keys for key in (*_LISTS, "content"))


def _uses_computer(tree: Tree, name: str, most: int) -> bool:
    """Whether a computer is called somewhere: the task's own picture may stand long before."""
    tool_use = computer = False
    rest = b""
    total = 0
    try:
        with tree.open(name) as stream:
            while total <= most and (chunk := stream.read(READ_CHUNK)):
                total += len(chunk)
                words = rest + chunk
                tool_use = tool_use or bool(_TOOL_USE.search(words))
                computer = computer or bool(_COMPUTER.search(words))
                if _COMPUTER_CALL.search(words) or (tool_use and computer):
                    return True
                rest = words[-_LONGEST_SIGN:]
    except (TreeError, *READ_ERRORS):
        pass
    return False
