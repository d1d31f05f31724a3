"""JSON Lines: read within bounds, and found again by the run they belong to."""

import hashlib
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from math import isfinite
from typing import IO, Any, BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

from webagent.trajectory.files.trees import READ_ERRORS, Tree
from webagent.trajectory.intake import BoundError, Bounds, InputError
from webagent.trajectory.texts import legible, storable_json, unstorable_numbers
from webagent.trajectory.values import first_field_error

R = TypeVar("R", bound=BaseModel)
_HUGE = re.compile(rb"[0-9][eE][+]?[0-9]{3,}\s*[],}]|(?<![0-9])[0-9]{300}")
"""A number of so large an exponent, or so long: perhaps one that no record holds. Hashes look
alike.
"""


def read_json(content: bytes, bounds: Bounds) -> dict[str, Any]:
    """One JSON object with storable text.

    Raises:
        InputError: no JSON object, or nested too deeply.
    """
    try:
        if (text := _plain_text(content, bounds)) is not None:
            found: dict[str, Any] = _PLAIN.decode(text)
            return found
        value = json.loads(content)
        if not isinstance(value, dict):
            raise InputError("", "not a JSON object")
        clean: dict[str, Any] = storable_json(value, bounds.text_chars, bounds.json_depth)
    except InputError:
        raise
    except RecursionError as error:
        raise InputError("", "nested too deeply") from error
    except UnicodeDecodeError as error:
        raise InputError("", f"not readable as JSON: {legible(content)[1]}") from error
    except ValueError as error:
        raise InputError("", f"not readable as JSON: {error}") from error
    return clean


def parsed(kind: type[R], value: Any, *, line: int = 0) -> R:
    """The value as a record of this kind.

    Raises:
        InputError: it does not fit; names the first field that is wrong.
    """
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        raise InputError(*first_field_error(error), line=line) from error


def _plain_text(content: bytes, bounds: Bounds) -> str | None:
    """The text, where nothing in it can need cleaning but numbers, as in nearly every line."""
    if (
        not content.startswith(b"{")
        or b"\0" in content
        or b"\\u" in content
        or len(content) > bounds.text_chars
        or content.count(b"{") + content.count(b"[") > bounds.json_depth
    ):
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _whole(text: str) -> Any:
    value = int(text)
    return value if value.bit_length() <= 63 else storable_json(value, limit=0)


def _fraction(text: str) -> float | None:
    value = float(text)
    return value if isfinite(value) else None


_PLAIN = json.JSONDecoder(parse_int=_whole, parse_float=_fraction, parse_constant=lambda _: None)
"""Reads what is plain, so that it need not be copied to be cleaned."""


class Lines:
    """One JSON Lines file of a tree, copied to a temporary file and indexed by a key."""

    def __init__(
        self, tree: Tree, name: str, key: str, bounds: Bounds, report: Callable[[InputError], None]
    ) -> None:
        """Read the file once. Lines that are no JSON objects go to `report`."""
        self._bounds = bounds
        self._spool: IO[bytes] = tempfile.TemporaryFile(prefix="crosscheck-")  # noqa: SIM115 close()
        self._offsets: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._odd: dict[str, list[str]] = defaultdict(list)
        self.count = self.bytes = 0
        digest = hashlib.sha256()
        number = 0
        lines = read_lines(tree, name, bounds)
        while True:
            number += 1
            try:
                line = next(lines, b"")
                if not line:
                    break
                if number > bounds.lines:
                    report(InputError("", f"more than {bounds.lines} lines", line=number))
                    break
                start = self.bytes
                self.bytes += self._spool.write(line)
                digest.update(line)
                owner = read_json(line, bounds).get(key)
                if not isinstance(owner, str):
                    raise InputError(key, "missing or not a text")
                self._offsets[owner].append((start, number))
                if b"NaN" in line or b"Infinity" in line or _HUGE.search(line):
                    odd = unstorable_numbers(json.loads(line))
                    self._odd[owner] += [f"line {number}: {place}" for place in odd]
                self.count += 1
            except InputError as error:
                error.line = number
                report(error)
        self.sha256 = digest.hexdigest()

    def __len__(self) -> int:
        return len(self._offsets)

    def __contains__(self, key: object) -> bool:
        return key in self._offsets

    def __iter__(self) -> Iterator[str]:
        """Every key, in order of first appearance."""
        return iter(self._offsets)

    def get(self, key: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Number and content of each line with that key, in the order of the file."""
        for offset, number in self._offsets.get(key, ()):
            self._spool.seek(offset)
            yield number, read_json(self._spool.readline(), self._bounds)

    def unstorable_numbers(self, key: str) -> list[str]:
        """Where the numbers stand in the lines of that key that no record holds."""
        return self._odd.get(key, [])

    def close(self) -> None:
        self._spool.close()


def read_lines(tree: Tree, name: str, bounds: Bounds) -> Iterator[bytes]:
    """Each line with its end. Raises InputError where the file is damaged or a line too long."""
    if name not in tree:
        return
    try:
        with tree.open(name) as stream:
            yield from bounded_lines(stream, bounds)
    except BoundError as error:
        raise InputError("", str(error)) from error
    except READ_ERRORS as error:
        raise InputError("", f"damaged from here on: {error}") from error


def bounded_lines(stream: BinaryIO, bounds: Bounds) -> Iterator[bytes]:
    """Each line with its end. Raises BoundError where one is too long."""
    while line := stream.readline(bounds.line_bytes + 1):
        if len(line) > bounds.line_bytes:
            raise BoundError(f"a line of more than {bounds.line_bytes} bytes")
        yield line


BROKEN = object()
"""In place of a line that is no JSON, or cut short."""


def json_values(lines: Iterable[str] | Iterable[bytes]) -> Iterator[Any]:
    """The value of each line that is not blank; `BROKEN` for one that has none."""
    for line in lines:
        if not line.strip():
            continue
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            yield BROKEN
