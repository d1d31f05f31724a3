"""Accessibility trees: flattened to text as BrowserGym does, read back from that, and compared.

One line is one node, indented by tabs: `[13] button 'OK', clickable, checked='false'`. A page's
fingerprint says whether two looks show the same, whatever differs from one load to the next. Left
out are element ids, focus, addresses and references inside the tree, clocks, and the parts of an
address that belong to a session or to measuring visitors. All else counts: texts, values, states,
the order of things, and which tabs are open.
"""

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from webagent.trajectory.values import items, mapping, text

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


_SILENT_ROLES = frozenset(("none", "generic", "InlineTextBox"))
_MAX_NODES = 200_000
_MAX_DEPTH = 200


def flatten_axtree(tree: Any) -> str:
    """One line per node, indented by depth: `[bid] role 'name', property=value`.

    Nodes without role, name and bid are passed over, their children are not.
    """
    nodes: dict[str, dict[str, Any]] = {}
    for item in items(mapping(tree).get("nodes"))[:_MAX_NODES]:
        node = mapping(item)
        if node.get("nodeId") is not None:
            nodes.setdefault(str(node["nodeId"]), node)
    lines: list[str] = []
    seen: set[str] = set()
    stack = [(next(iter(nodes), ""), 0)]
    while stack:
        key, depth = stack.pop()
        if key in seen or key not in nodes:
            continue
        seen.add(key)
        line = _shown(nodes[key])
        if line:
            lines.append("\t" * min(depth, _MAX_DEPTH) + line)
        children = [str(child) for child in items(nodes[key].get("childIds"))]
        stack += [(child, depth + bool(line)) for child in reversed(children)]
    return "\n".join(lines)


def _shown(node: dict[str, Any]) -> str:
    role = text(mapping(node.get("role")).get("value")) or ""
    name = text(mapping(node.get("name")).get("value")) or ""
    bid = text(node.get("browsergym_id"))
    if role in _SILENT_ROLES and not (bid and name):
        return ""
    if not role and not name:
        return ""
    shown = f"{role} {name!r}"
    if bid:
        shown = f"[{bid}] {shown}"
    return ", ".join([shown, *_shown_properties(node)])


def _shown_properties(node: dict[str, Any]) -> list[str]:
    shown = []
    value = mapping(node.get("value")).get("value")
    if value not in (None, ""):
        shown.append(f"value={value!r}")
    for item in items(node.get("properties")):
        name = text(mapping(item).get("name"))
        state = mapping(mapping(item).get("value")).get("value")
        if name and state is True:
            shown.append(name)
        elif name and state not in (None, False, ""):
            shown.append(f"{name}={state!r}")
    return shown


DIGEST_BYTES = 16

_SESSION_PARAMETERS = (
    "sid session session_id sessionid jsessionid phpsessid aspsessionid csrf csrftoken csrf_token"
    " csrfmiddlewaretoken authenticity_token form_key nonce"
)
_PASSING_PARAMETERS = "_ ts timestamp cb cachebuster cache_buster gclid fbclid msclkid _ga"
_VOLATILE_PARAMETERS = frozenset(f"{_SESSION_PARAMETERS} {_PASSING_PARAMETERS}".split())
_VOLATILE_PREFIXES = ("utm_",)
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/;]*", re.IGNORECASE)

# Ids of other elements are given out anew by many frameworks at every load.
_PROPERTIES = (
    "url|controls|owns|labelledby|describedby|errormessage|activedescendant|details|flowto"
)
# Possessive all through: pages are large, and there is nothing to come back to.
# No quotation begins at an escaped mark: else each of them in one without an end is tried.
_QUOTED_TEXT = (
    r"(?:(?<!\\)'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'"
    r"|(?<!\\)\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+\")"
)
_ID = re.compile(r"(\n\t*+)\[\w+\] ")
_LEFT_OUT = rf" (?:focused\b(?!=)|(?:{_PROPERTIES})=(?:{_QUOTED_TEXT}|\[[^\]\n]*+\]|[^,\n]*+))"
# `(?>...+)` and not `...++`: before 3.11.5 that goes wrong where alternatives are repeated.
_KEPT = re.compile(rf"((?>(?:[^,'\"]++|{_QUOTED_TEXT}|,(?!{_LEFT_OUT})|['\"])+))|,{_LEFT_OUT}")
"""What stays, in its one group, or a property that goes; quoted texts stay whatever they hold."""
_TEXT = re.compile(_QUOTED_TEXT)
_CLOCK = re.compile(
    r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?"
    r"|\b\d{1,2}:\d{2}:\d{2}(?:\.\d+)?(?: ?[AaPp][Mm])?\b"
    r"|\b\d++ (?:second|minute|hour)s? ago\b|\bjust now\b"
    r"|(?<!\d)\d++ ?(?:秒|分|時間)前"
)
_CLOCK_DIGITS = re.compile(r":\d\d")
_CLOCK_WORD = "(clock)"


def page_fingerprint(url: str, axtree: str, other_tabs: Iterable[str] = ()) -> str:
    """32 hex digits, the same for every look at the same page in the same state.

    Args:
        axtree: as BrowserGym flattens it, one node a line.
        other_tabs: addresses of the tabs that are open beside this one, in order.
    """
    tabs = "\n".join(stable_url(tab) for tab in other_tabs)
    content = f"{stable_url(url)}\n{tabs}\n\n{stable_tree(axtree)}"
    digest = hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=DIGEST_BYTES)
    return digest.hexdigest()


@lru_cache(maxsize=256)
def stable_url(url: str) -> str:
    """The address without session ids, cache busters and campaign names, parameters sorted."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    kept = sorted(
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if not _is_volatile(name.lower())
    )
    path = _PATH_SESSION.sub("", parts.path)
    return urlunsplit((parts.scheme, parts.netloc, path, urlencode(kept), parts.fragment))


def stable_tree(axtree: str) -> str:
    """The tree without what differs between two loads of the same page."""
    # Two calls and no function for each match: a page has thousands.
    kept = "".join(_KEPT.findall("".join(_ID.split(f"\n{axtree}"))[1:]))
    if not _may_hold_clock(kept):
        return kept
    return "\n".join(map(_without_clocks, kept.split("\n")))


def _without_clocks(line: str) -> str:
    """The line with the clocks in its quoted texts left out; nothing quoted goes over its end."""
    if not _may_hold_clock(line):
        return line
    return _TEXT.sub(lambda text: _CLOCK.sub(_CLOCK_WORD, text[0]), line)


def _may_hold_clock(text: str) -> bool:
    """Told quickly: the long pattern is slow on digits, of which pages are full."""
    if " ago" in text or "just now" in text or "前" in text:
        return True
    return ":" in text and _CLOCK_DIGITS.search(text) is not None


def _is_volatile(name: str) -> bool:
    return name in _VOLATILE_PARAMETERS or name.startswith(_VOLATILE_PREFIXES)
