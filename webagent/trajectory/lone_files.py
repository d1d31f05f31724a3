"""One file without a folder around it, seen as a tree: a JSON document, say."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import BinaryIO

from webagent.trajectory.bounds import BoundError, Bounds
from webagent.trajectory.bundles import Problem
from webagent.trajectory.encodings import EncodingError, decoded, legible
from webagent.trajectory.trees import Tree, TreeError, text_in_utf8

_STARTS = ("{", "[")
_MOST_SCALAR = 1 << 16


def is_json(given: Path | BinaryIO) -> bool:
    """Whether a file begins like a JSON object or array, or is a JSON value as a whole."""
    try:
        if isinstance(given, Path):
            with given.open("rb") as stream:
                head = stream.read(_MOST_SCALAR)
        else:
            given.seek(0)
            head = given.read(_MOST_SCALAR)
    except OSError:
        return False
    words = legible(head)[0].strip()
    if words.startswith(_STARTS):
        return True
    try:
        json.loads(words)
    except (ValueError, RecursionError):
        return False
    return len(head) < _MOST_SCALAR


def why_unreadable(tree: Tree, bounds: Bounds) -> str | None:
    """What is wrong with the JSON of a file that stands alone; None if it can be read.

    As one document, or as lines of which the first is one.
    """
    if not isinstance(tree, LoneFileTree) or tree.size(tree.names[0]) > bounds.json_bytes:
        return None
    try:
        with tree.open(tree.names[0]) as stream:
            text = decoded(stream.read())
    except (EncodingError, TreeError) as error:
        return str(error)
    first: ValueError | None = None
    for written in (text, text.lstrip().partition("\n")[0]):
        try:
            value = json.loads(written)
        except RecursionError:
            return "no valid JSON: too deep"
        except ValueError as error:
            first = first or error
        else:
            return None if isinstance(value, dict | list) else "neither an object nor an array"
    return f"no valid JSON: {first}"


class LoneFileTree:
    """A tree that holds the one file that was given, under its own name.

    Raises (on opening):
        BoundError: larger than a member may be.
    """

    problems: tuple[Problem, ...] = ()

    def __init__(self, given: Path | BinaryIO, bounds: Bounds, label: str) -> None:
        self._given = given
        self.label = label
        self.names: tuple[str, ...] = (label.rstrip("/").rpartition("/")[2] or "file",)
        if isinstance(given, Path):
            self._size = given.stat().st_size
        else:
            self._size = given.seek(0, io.SEEK_END)
        if self._size > bounds.member_bytes:
            raise BoundError(f"more than {bounds.member_bytes} bytes")

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def size(self, name: str) -> int:
        return self._size

    def open(self, name: str) -> BinaryIO:
        if name not in self.names:
            raise TreeError("not there")
        if isinstance(self._given, Path):
            return text_in_utf8(name, self._given.open("rb"))
        self._given.seek(0)
        # A copy: readers close what they open, and the file that was given is not theirs.
        return text_in_utf8(name, io.BytesIO(self._given.read()))

    def close(self) -> None:
        """Nothing is kept open."""
