"""Which files are message logs of computer use, and what is in them besides the messages."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from webagent.trajectory.bounds import BoundError, Bounds
from webagent.trajectory.outlines import HEAD_BYTES, outline
from webagent.trajectory.trees import READ_ERRORS, Tree, TreeError, read_file
from webagent.trajectory.untyped import items, mapping, text

_LISTS = ("messages", "items", "input", "output")
_FIRST_KEYS = ("role", "type", "output", "content")
_COMPUTER_CALL = re.compile(r'"type"\s*:\s*"computer_call"')
_TOOL_USE = re.compile(r'"type"\s*:\s*"tool_use"')
_COMPUTER = re.compile(
    r'"name"\s*:\s*"computer"|"toolset_name"\s*:\s*"(?:computer|browser)"|"computer_\d{8}"'
)


@dataclass(slots=True)
class Dump:
    """One file."""

    messages: list[Any]
    model: str | None = None
    system: str | None = None
    tools: list[Any] = field(default_factory=list)
    usage: Any = None
    lines: int = 0
    """Lines of a file of one response a line; 0 for a single document."""
    bad_lines: int = 0


def find_dumps(tree: Tree) -> list[str]:
    """Every JSON or JSON Lines file in which a computer is used."""
    return [
        name
        for name in tree.names
        if name.endswith((".json", ".jsonl")) and _may_be(tree, name) and _uses_computer(tree, name)
    ]


def read_dump(tree: Tree, name: str, bounds: Bounds) -> Dump:
    """The messages of one file, in whatever wrapping.

    Raises:
        ValueError: no JSON, too large, or no messages in it.
    """
    try:
        content = read_file(tree, name, bounds.json_bytes).decode("utf-8-sig", "replace")
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
    key = next((key for key in _LISTS if isinstance(document.get(key), list)), None)
    if key is None:
        raise ValueError(f"none of {', '.join(_LISTS)} is a list")
    return Dump(
        document[key],
        model=text(document.get("model")),
        system=text(document.get("system")) or text(document.get("instructions")),
        tools=items(document.get("tools")),
        usage=document.get("usage"),
    )


def _from_lines(content: str) -> Dump:
    """One message or one whole response a line."""
    found = Dump([])
    for line in content.splitlines():
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            found.bad_lines += 1
            continue
        found.lines += 1
        found.messages.append(value)
        found.model = found.model or text(mapping(value).get("model"))
        found.tools = found.tools or items(mapping(value).get("tools"))
    if not found.lines:
        raise ValueError("neither a JSON document nor lines of JSON")
    return found


def _may_be(tree: Tree, name: str) -> bool:
    head = outline(tree, name)
    if head.kind == "array":
        return any(key in head.keys for key in _FIRST_KEYS)
    return head.kind == "object" and any(key in head.keys for key in (*_LISTS, "content"))


def _uses_computer(tree: Tree, name: str) -> bool:
    try:
        with tree.open(name) as stream:
            head = stream.read(HEAD_BYTES).decode("utf-8", "replace")
    except (TreeError, *READ_ERRORS):
        return False
    if _COMPUTER_CALL.search(head):
        return True
    return bool(_TOOL_USE.search(head) and _COMPUTER.search(head))
