"""A large JSON array item by item, holding one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn, TextIO

CHUNK = 256 * 1024
"""Characters."""

_BLANKS = " \t\r\n"
_OF_NUMBERS = "0123456789.eE+-"
"""Holds the empty string too, which is what the end of the text reads as."""


class ArrayError(ValueError):
    """The file is no JSON array, or an item of it is too large."""


def array_items(file: TextIO, *, longest: int) -> Iterator[Any]:
    """The items of the JSON array that the file holds, in order.

    Args:
        longest: characters that one item may have.

    Raises:
        ArrayError: it is no array, breaks off, goes on after its end, or an item is too long,
            nested too deeply or holds NaN.
    """
    reader = _Reader(file, longest)
    reader.take("[")
    if reader.peek() == "]":
        reader.take("]")
    else:
        yield reader.item()
        while reader.peek() == ",":
            reader.take(",")
            yield reader.item()
        reader.take("]")
    if reader.peek():
        reader.fail("there is more after the end of the array")


class _Reader:
    def __init__(self, file: TextIO, longest: int) -> None:
        self.file = file
        self.longest = longest
        self.text = ""
        self.at = 0
        self.count = 0
        self.decoder = json.JSONDecoder(parse_constant=_refuse)

    def peek(self) -> str:
        """The next character that is not blank; "" at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _BLANKS:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self._more():
                return ""

    def take(self, wanted: str) -> None:
        found = self.peek()
        if found != wanted:
            self.fail(f"expected {wanted!r}, found {found!r}" if found else "it breaks off")
        self.at += 1

    def item(self) -> Any:
        """The next value. Tries with twice the text each time, so that work stays linear."""
        if not self.peek():
            self.fail("it breaks off")
        while True:
            try:
                value, end = self.decoder.raw_decode(self.text, self.at)
            except (json.JSONDecodeError, RecursionError) as error:
                self._grow(error)
                continue
            except ValueError as error:
                self.fail(str(error))
            if self.text[end : end + 1] in _OF_NUMBERS and self._more():
                continue  # a number may go on
            self.at = end
            self.count += 1
            return value

    def _grow(self, error: Exception) -> None:
        """As much text again as there is, unless that cannot help."""
        waiting = len(self.text) - self.at
        if isinstance(error, RecursionError):
            self.fail("it is nested too deeply")
        if waiting > self.longest:
            self.fail(f"it is longer than {self.longest} characters, or no JSON")
        if not self._more(max(CHUNK, waiting)):
            self.fail(f"it is no JSON: {error}")

    def _more(self, characters: int = CHUNK) -> bool:
        try:
            read = self.file.read(characters)
        except UnicodeDecodeError as error:
            self.fail(f"it is no UTF-8: {error}")
        self.text = self.text[self.at :] + read
        self.at = 0
        return bool(read)

    def fail(self, reason: str) -> NoReturn:
        where = f"item {self.count + 1}" if self.count else "the array"
        raise ArrayError(f"{where}: {reason}")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
