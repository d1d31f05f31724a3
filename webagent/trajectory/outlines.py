"""What a JSON file is, from its first part: read without building the whole of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from webagent.trajectory.trees import READ_ERRORS, Tree, TreeError

HEAD_BYTES = 1 << 17
"""Keys that stand behind this much are not seen."""
MAX_STRING = 500

_MARK = re.compile(r'(?<!\\)"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]:,]|"|[^\s{}\[\]:,"]+')


@dataclass(frozen=True, slots=True)
class Outline:
    """The outermost shape of a JSON document; `kind` is empty if it is none."""

    kind: str = ""
    """`object` or `array`."""
    keys: tuple[str, ...] = ()
    """Keys of the object, or of the array's first object, in order, as far as the head goes."""
    texts: dict[str, str] = field(default_factory=dict)
    """Those of its values that are short strings."""
    inner: frozenset[str] = frozenset()
    """Keys of objects in its lists, or one level down in its objects."""

    def has(self, *keys: str) -> bool:
        """Whether all of these keys are there."""
        return set(keys) <= set(self.keys)


_OUTLINES: WeakKeyDictionary[Tree, dict[str, Outline]] = WeakKeyDictionary()


def outline(tree: Tree, name: str) -> Outline:
    """The outline of one file of the tree; looked up once, however many readers ask."""
    known = _OUTLINES.setdefault(tree, {})
    if name not in known:
        known[name] = outline_of(_head(tree, name))
    return known[name]


def outline_of(head: str) -> Outline:
    """The outline of a document, or of the beginning of one."""
    marks = _MARK.finditer(head.lstrip("\ufeff \t\r\n"))
    first = next(marks, None)
    if first is None or first[0] not in "{[":
        return Outline()
    kind = "object" if first[0] == "{" else "array"
    wanted = 1 if kind == "object" else 2
    keys: list[str] = []
    texts: dict[str, str] = {}
    inner: set[str] = set()
    depth, before, is_value = 1, "", False
    for match in marks:
        mark = match[0]
        if mark == '"':  # the head ends inside a string
            break
        if mark == ":":
            if depth == wanted:
                keys.append(_text(before))
            elif depth <= wanted + 2:
                inner.add(_text(before))
        elif mark in "{[":
            depth += 1
            if kind == "array" and depth == wanted and mark == "[":
                break
        elif mark in "}]":
            depth -= 1
            if depth < wanted:
                break
        elif is_value and depth == wanted and mark[0] == '"' and len(mark) <= MAX_STRING:
            texts[keys[-1]] = _text(mark)
        before, is_value = mark, mark == ":"
    return Outline(kind, tuple(keys), texts, frozenset(inner))


def _head(tree: Tree, name: str) -> str:
    try:
        with tree.open(name) as stream:
            return stream.read(HEAD_BYTES).decode("utf-8", "replace")
    except (TreeError, *READ_ERRORS):
        return ""


def _text(mark: str) -> str:
    try:
        return str(json.loads(mark))
    except ValueError:
        return mark.strip('"')
