"""Read the accessibility tree back from the text that BrowserGym flattens it to.

One line is one node, indented by tabs: `[13] button 'OK', clickable, checked='false'`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

MAX_NAME_CHARS = 300

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_NODE = re.compile(
    rf"(?P<tabs>\t*)(?:\[(?P<bid>\w+)\] )?(?P<role>\w+)(?: (?P<name>{_QUOTED}))?"
    rf"(?: value=(?P<value>{_QUOTED}|[^,]*))?(?P<rest>(?:, .*)?)"
)
_PROPERTY = re.compile(rf"(?P<key>[\w-]+)(?:=(?P<value>{_QUOTED}|[^,]*))?")


@dataclass(frozen=True, slots=True)
class Node:
    """One line of the tree. `depth` counts from 0 at the page itself."""

    depth: int
    bid: str | None
    role: str
    name: str
    value: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Whether a flag is set: present, and neither false nor empty."""
        return self.properties.get(name, "") not in {"", "false", "False"}


def parse_axtree(text: str) -> tuple[Node, ...]:
    """The nodes of a flattened tree in document order; lines that are no node are left out."""
    return tuple(
        _node(match) for line in text.split("\n") if (match := _NODE.fullmatch(line)) is not None
    )


def subtree(nodes: Sequence[Node], index: int) -> tuple[Node, ...]:
    """The nodes below the one at `index`, in document order."""
    return tuple(_below(nodes, index))


def places_of(nodes: Sequence[Node]) -> dict[str, int]:
    """Where each element stands among the nodes, by its id; the first of several."""
    return {
        node.bid: index for index, node in reversed([*enumerate(nodes)]) if node.bid is not None
    }


def role_and_text(nodes: Sequence[Node], index: int | None) -> tuple[str | None, str | None]:
    """Role and visible text of the element at `index`; None for one that is not there."""
    return (None, None) if index is None else (nodes[index].role, text_at(nodes, index))


def text_at(nodes: Sequence[Node], index: int) -> str | None:
    """The visible text of the element at `index`; its parts' where it has no name of its own."""
    text = nodes[index].name or nodes[index].value or _text_below(nodes, index)
    return text[:MAX_NAME_CHARS] or None


def _text_below(nodes: Sequence[Node], index: int) -> str:
    """No more of it than is told: a box around a whole page is not read to its end."""
    parts, length = [], 0
    for node in _below(nodes, index):
        if node.role == "StaticText":
            parts.append(node.name)
            length += len(node.name) + 1
        if length > MAX_NAME_CHARS:
            break
    return " ".join(parts)


def _below(nodes: Sequence[Node], index: int) -> Iterator[Node]:
    for place in range(index + 1, len(nodes)):
        if nodes[place].depth <= nodes[index].depth:
            return
        yield nodes[place]


def _node(match: re.Match[str]) -> Node:
    properties = {
        found["key"]: _plain(found["value"]) if found["value"] is not None else "true"
        for found in _PROPERTY.finditer(match["rest"])
    }
    return Node(
        depth=len(match["tabs"]),
        bid=match["bid"],
        role=match["role"],
        name=_plain(match["name"] or ""),
        value=None if match["value"] is None else _plain(match["value"]),
        properties=properties,
    )


def _plain(text: str) -> str:
    """The text inside quotes, or the text itself where there are none."""
    if text[:1] not in {"'", '"'}:
        return text
    try:
        return str(ast.literal_eval(text))
    except (ValueError, SyntaxError):  # a page's text that repr() cannot have written
        return text
